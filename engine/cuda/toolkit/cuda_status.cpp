#include "engine/cuda/toolkit/cuda_status.h"

#include <string>

namespace sluice::engine::cuda {

Status cuda_status(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  // The runtime hands an error out once more unless it is asked for it.
  static_cast<void>(cudaGetLastError());
  std::string message = std::string(what) + ": " + cudaGetErrorString(error) + " (CUDA error " +
                        std::to_string(static_cast<int>(error)) + ")";
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice) return failed_precondition(message);
  return internal_error(message);
}

}  // namespace sluice::engine::cuda
