#include <utility>

#include "engine/cuda/plugin.h"

namespace sluice::engine::cuda {
namespace {

Result<std::vector<std::string>> devices() {
  return std::vector<std::string>{"Imagined GPU, 1 GiB"};
}

/// Tells which device was asked for, in the place of making a backend on it.
Result<RankBackends> open(const PluginOptions& options) {
  return Status(StatusCode::kCancelled, "asked for device " + std::to_string(options.ordinal));
}

}  // namespace
}  // namespace sluice::engine::cuda

extern "C" const sluice::engine::cuda::Plugin* sluice_cuda_plugin() {
  using namespace sluice::engine::cuda;
  static const std::string abi = plugin_abi(SLUICE_VERSION, header_digest());
  static const Plugin plugin{.abi = abi.c_str(), .devices = devices, .open = open};
  return &plugin;
}
