#pragma once

#include <memory>

#include "base/status.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"

/// The GPU that reference tests run models on: here the simulated one. tests/cuda_device/reference/ has this file once
/// more, for a real one; which of the two a test gets is a matter of the include path.
namespace sluice::engine {

class ReferenceGpu {
 public:
  /// In the names of tests.
  static constexpr const char* kName = "simulated-gpu";

  /// The GPU outlives it.
  Result<std::unique_ptr<Backend>> backend(const CudaOptions& options) { return make_cuda_backend(device_, options); }

 private:
  cuda::HostDevice device_{int64_t{1} << 30};
};

}  // namespace sluice::engine
