#include "engine/cuda/plugin.h"

#include <utility>
#include <vector>

#include "engine/cuda/first_sums.h"
#include "engine/cuda/toolkit/cuda_device.h"
#include "engine/cuda/toolkit/nccl_ranks.h"

namespace sluice::engine::cuda {
namespace {

/// Of the largest sum that connections are made for before weights are loaded: 2048 tokens of a width of 8192. Others
/// are as good, but may still take memory when they come.
constexpr int64_t kFirstSumsMax = int64_t{16} << 20;

Result<std::unique_ptr<NcclRanks>> connect(const PluginOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const Nccl nccl, Nccl::open(options.nccl_file));
  return NcclRanks::connect(nccl, options.device_count,
                            [&options](int32_t rank) { return CudaDevice::select(options.ordinal + rank); });
}

Result<RankBackends> open(const PluginOptions& options) {
  std::unique_ptr<NcclRanks> ranks;  // first, as the devices have it
  if (options.device_count > 1) {
    SLUICE_ASSIGN_OR_RETURN(ranks, connect(options));
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (int32_t rank = 0; rank < options.device_count; ++rank) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CudaDevice::open(options.ordinal + rank, options.products,
                                                                             {.ranks = ranks.get(), .index = rank}));
    SLUICE_RETURN_IF_ERROR(device->check_products(options.backend.element));  // before weights are read
    devices.push_back(std::move(device));
  }
  if (ranks != nullptr) SLUICE_RETURN_IF_ERROR(make_first_sums(devices, kFirstSumsMax, *ranks));
  RankBackends opened;
  opened.group = std::move(ranks);
  for (std::unique_ptr<Device>& device : devices) {
    opened.backends.push_back(make_cuda_backend(std::move(device), options.backend));
  }
  return opened;
}

}  // namespace
}  // namespace sluice::engine::cuda

/// A PluginEntry, found by its name in kPluginEntry.
extern "C" __attribute__((visibility("default"))) const sluice::engine::cuda::Plugin* sluice_cuda_plugin() {
  using namespace sluice::engine::cuda;
  static const std::string abi = plugin_abi(SLUICE_VERSION, header_digest());
  static const Plugin plugin{.abi = abi.c_str(), .devices = describe_devices, .open = open};
  return &plugin;
}
