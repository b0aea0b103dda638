#include "engine/cuda/plugin.h"

// A plugin of the same version by the same compiler, but of another commit, whose headers say something else.
extern "C" const sluice::engine::cuda::Plugin* sluice_cuda_plugin() {
  using namespace sluice::engine::cuda;
  static const std::string abi = plugin_abi(SLUICE_VERSION, "0123456789abcdef");
  static const Plugin plugin{.abi = abi.c_str(), .devices = nullptr, .open = nullptr};
  return &plugin;
}
