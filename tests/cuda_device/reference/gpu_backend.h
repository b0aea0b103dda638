#pragma once

#include <filesystem>
#include <memory>
#include <utility>

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
    SLUICE_ASSIGN_OR_RETURN(RankBackends opened,
                            cuda::open_cuda_backends(folders, {.ordinal = 0, .backend = options, .products = {}}));
    return std::move(opened.backends.front());
  }
};

}  // namespace sluice::engine
