#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {

/// to[i] = from[rows[i]], rows [row_count, width] of floats. One block per row.
GPU_KERNEL(256) void gather_rows(float* to, const float* from, const int32_t* rows, int32_t width) {
  const auto block = static_cast<int64_t>(gpu::block_index().x);
  const float* row = from + int64_t{rows[block]} * width;
  for (auto i = static_cast<int32_t>(gpu::thread_index().x); i < width;
       i += static_cast<int32_t>(gpu::block_size().x)) {
    to[block * width + i] = row[i];
  }
}

/// to[i] = from[i] in another type.
template <typename To>
GPU_KERNEL(256)
void convert(To* to, const float* from, int64_t count) {
  const int64_t stride = int64_t{gpu::grid_size().x} * gpu::block_size().x;
  for (int64_t i = int64_t{gpu::block_index().x} * gpu::block_size().x + gpu::thread_index().x; i < count;
       i += stride) {
    to[i] = gpu::from_float<To>(from[i]);
  }
}

}  // namespace sluice::engine::cuda
