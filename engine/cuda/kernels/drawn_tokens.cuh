#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/thread_number.cuh"

namespace sluice::engine::cuda {

constexpr int32_t kDrawnThreads = 256;

/// token_ids[i] = drawn[drawn_before[i]] where that names a sample, of the step before.
GPU_KERNEL(kDrawnThreads)
void take_drawn_kernel(int32_t* token_ids, const int32_t* drawn_before, const int32_t* drawn, int32_t count) {
  const int32_t i = static_cast<int32_t>(gpu::block_index().x) * kDrawnThreads + thread_number();
  if (i < count && drawn_before[i] >= 0) token_ids[i] = drawn[drawn_before[i]];
}

inline int32_t launch_take_drawn(int32_t* token_ids, const int32_t* drawn_before, const int32_t* drawn, int32_t count,
                                 void* stream) {
  const auto blocks = static_cast<uint32_t>((count + kDrawnThreads - 1) / kDrawnThreads);
  return gpu::launch<take_drawn_kernel>({.grid = {blocks}, .block = {kDrawnThreads}, .stream = stream}, token_ids,
                                        drawn_before, drawn, count);
}

}  // namespace sluice::engine::cuda
