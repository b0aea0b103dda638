#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/sampling_block.cuh"

namespace sluice::engine::cuda {

/// Leaves the sums of chunks of kWeightChunk weights in memory.chunk_sums() and returns the sum of those, all in the
/// order in which engine/softmax.cpp and engine/logit_kernels.cpp add: weight i of a chunk goes to lane i % kLanes, the
/// lanes are added up in double. weight_at(i) is called once for each i below `count`. What it writes, all threads see
/// after the call.
template <int32_t kLanes, typename Sum, typename WeightAt>
GPU_DEVICE double sum_chunks(int32_t count, SamplingMemory& memory, const WeightAt& weight_at) {
  constexpr int32_t kChunksAtOnce = kSamplingThreads / kLanes;
  const int32_t thread = thread_number();
  const int32_t lane = thread % kLanes;
  const int32_t chunks = weight_chunks(count);
  double* const lane_sums = memory.sums[0];
  for (int32_t first = 0; first < chunks; first += kChunksAtOnce) {
    const int32_t chunk = first + thread / kLanes;
    const int32_t end = least(count, (chunk + 1) * kWeightChunk);
    Sum sum = 0;
    for (int32_t i = chunk * kWeightChunk + lane; i < end; i += kLanes) sum += static_cast<Sum>(weight_at(i));
    lane_sums[thread] = static_cast<double>(sum);
    gpu::sync_block();
    if (lane == 0 && chunk < chunks) {
      double of_chunk = 0;
      for (int32_t i = 0; i < kLanes; ++i) of_chunk += lane_sums[thread + i];
      memory.chunk_sums()[chunk] = of_chunk;
    }
    gpu::sync_block();
  }
  if (thread == 0) {
    memory.number = 0;
    for (int32_t chunk = 0; chunk < chunks; ++chunk) memory.number += memory.chunk_sums()[chunk];
  }
  gpu::sync_block();
  const double sum = memory.number;
  gpu::sync_block();
  return sum;
}

/// As the CPU's weigh: float lanes.
template <typename WeightAt>
GPU_DEVICE double weigh_chunks(int32_t count, SamplingMemory& memory, const WeightAt& weight_at) {
  return sum_chunks<16, float>(count, memory, weight_at);
}

/// The chunk in which the running sum passes `target`, else the last of positive sum; `target` becomes what is left of
/// it there.
GPU_DEVICE int32_t draw_chunk(const double* chunk_sums, int32_t chunks, double& target) {
  int32_t drawn = 0;
  double left = target;
  for (int32_t chunk = 0; chunk < chunks; ++chunk) {
    const double sum = chunk_sums[chunk];
    if (sum <= 0) continue;
    drawn = chunk;
    target = left;
    if (left < sum) break;
    left -= sum;
  }
  return drawn;
}

GPU_DEVICE int32_t draw_from_chunk(const float* weights, double target) {
  int32_t drawn = 0;
  double passed = 0;
  for (int32_t i = 0; i < kWeightChunk; ++i) {
    if (weights[i] <= 0.0F) continue;
    drawn = i;
    passed += static_cast<double>(weights[i]);
    if (target < passed) break;
  }
  return drawn;
}

/// The index below `count` where the running sum of weights passes `target`, from the chunk sums that sum_chunks left.
/// Never one of weight 0, of which not all are.
template <typename WeightAt>
GPU_DEVICE int32_t draw_index(int32_t count, double target, SamplingMemory& memory, const WeightAt& weight_at) {
  const int32_t thread = thread_number();
  if (thread == 0) {
    memory.index = draw_chunk(memory.chunk_sums(), weight_chunks(count), target);
    memory.number = target;
  }
  gpu::sync_block();
  const int32_t begin = memory.index * kWeightChunk;
  const double target_in_chunk = memory.number;
  memory.weights[thread] = begin + thread < count ? weight_at(begin + thread) : 0.0F;
  gpu::sync_block();
  if (thread == 0) memory.index = begin + draw_from_chunk(memory.weights, target_in_chunk);
  gpu::sync_block();
  const int32_t drawn = memory.index;
  gpu::sync_block();
  return drawn;
}

}  // namespace sluice::engine::cuda
