#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {

/// Along x, of blocks of one dimension.
GPU_DEVICE int32_t thread_number() {
  return static_cast<int32_t>(gpu::thread_index().x);
}

}  // namespace sluice::engine::cuda
