#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"

namespace sluice::engine::cuda {

constexpr int32_t kDrawnThreads = 256;

/// token_ids[i] = drawn[drawn_before[i]] where that names a sample, of the step before.
GPU_KERNEL(kDrawnThreads)
void take_drawn_kernel(int32_t* token_ids, const int32_t* drawn_before, const int32_t* drawn, int32_t count) {
  const int32_t i = block_in_grid() * kDrawnThreads + thread_number();
  if (i < count && drawn_before[i] >= 0) token_ids[i] = drawn[drawn_before[i]];
}

inline gpu::Launch drawn_launch(int32_t count, void* stream) {
  const auto blocks = static_cast<uint32_t>(divide_up(count, kDrawnThreads));
  return {.grid = {blocks}, .block = {kDrawnThreads}, .stream = stream};
}

inline int32_t launch_take_drawn(int32_t* token_ids, const int32_t* drawn_before, const int32_t* drawn, int32_t count,
                                 void* stream) {
  return gpu::launch<take_drawn_kernel>(drawn_launch(count, stream), token_ids, drawn_before, drawn, count);
}

// Where another rank drew, the token comes as a sum of floats over the ranks, all but one of which add nothing.

/// shared[i] = the token that take_drawn() would take, or 0 where there is none; all 0 without `drawn`. Tokens are
/// below kSharedTokensMax.
GPU_KERNEL(kDrawnThreads)
void share_drawn_kernel(float* shared, const int32_t* drawn_before, const int32_t* drawn, int32_t count) {
  const int32_t i = block_in_grid() * kDrawnThreads + thread_number();
  if (i >= count) return;
  const bool has_token = drawn != nullptr && drawn_before[i] >= 0;
  shared[i] = has_token ? static_cast<float>(drawn[drawn_before[i]]) : 0.0F;
}

/// token_ids[i] = shared[i] where drawn_before[i] names a sample, of the step before.
GPU_KERNEL(kDrawnThreads)
void take_shared_kernel(int32_t* token_ids, const int32_t* drawn_before, const float* shared, int32_t count) {
  const int32_t i = block_in_grid() * kDrawnThreads + thread_number();
  if (i < count && drawn_before[i] >= 0) token_ids[i] = static_cast<int32_t>(shared[i]);
}

/// A float has these exactly.
constexpr int32_t kSharedTokensMax = 1 << 24;

inline int32_t launch_share_drawn(float* shared, const int32_t* drawn_before, const int32_t* drawn, int32_t count,
                                  void* stream) {
  return gpu::launch<share_drawn_kernel>(drawn_launch(count, stream), shared, drawn_before, drawn, count);
}

inline int32_t launch_take_shared(int32_t* token_ids, const int32_t* drawn_before, const float* shared, int32_t count,
                                  void* stream) {
  return gpu::launch<take_shared_kernel>(drawn_launch(count, stream), token_ids, drawn_before, shared, count);
}

}  // namespace sluice::engine::cuda
