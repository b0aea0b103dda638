#pragma once

#include <filesystem>
#include <memory>

#include "base/status.h"
#include "engine/cuda/open_plugin.h"

/// The GPU that reference tests run models on: the first of this machine, by libsluice_cuda.so.
/// tests/reference/simulated/gpu_backend.h tells of the same for the simulation.
namespace sluice::engine {

class ReferenceGpu {
 public:
  /// In the names of tests.
  static constexpr const char* kName = "gpu";

  Result<std::unique_ptr<Backend>> backend(const CudaOptions& options) {
    const auto folders = cuda::plugin_folders(std::filesystem::read_symlink("/proc/self/exe"));
    return cuda::open_cuda_backend(folders, {.ordinal = 0, .backend = options, .products = {}});
  }
};

}  // namespace sluice::engine
