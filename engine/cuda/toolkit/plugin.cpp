#include "engine/cuda/plugin.h"

#include <utility>

#include "engine/cuda/toolkit/cuda_device.h"

namespace sluice::engine::cuda {
namespace {

Result<std::unique_ptr<Backend>> open(const PluginOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CudaDevice::open(options.ordinal, options.products));
  return make_cuda_backend(std::move(device), options.backend);
}

}  // namespace
}  // namespace sluice::engine::cuda

/// A PluginEntry, found by its name in kPluginEntry.
extern "C" __attribute__((visibility("default"))) const sluice::engine::cuda::Plugin* sluice_cuda_plugin() {
  using namespace sluice::engine::cuda;
  static const std::string abi = plugin_abi(SLUICE_VERSION);
  static const Plugin plugin{.abi = abi.c_str(), .devices = describe_devices, .open = open};
  return &plugin;
}
