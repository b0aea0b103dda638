#include "engine/cuda/plugin.h"

// A plugin of another version. What is behind its text isn't there: nobody may call it.
extern "C" const sluice::engine::cuda::Plugin* sluice_cuda_plugin() {
  static const sluice::engine::cuda::Plugin plugin{
      .abi = "Sluice 0.0.1, compiled by 12.2.0", .devices = nullptr, .open = nullptr};
  return &plugin;
}
