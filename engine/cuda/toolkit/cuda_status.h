#pragma once

#include <string_view>

#include <cuda_runtime_api.h>

#include "base/status.h"

namespace sluice::engine::cuda {

/// What became of `what`, e.g. "copying to the device". FAILED_PRECONDITION when CUDA can't be used here at all,
/// otherwise INTERNAL; the message has CUDA's own words and number.
Status cuda_status(cudaError_t error, std::string_view what);

}  // namespace sluice::engine::cuda
