#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/thread_number.cuh"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

constexpr int32_t kSamplingThreads = 256;
constexpr int32_t kSamplingWarps = kSamplingThreads / gpu::kWarpSize;
constexpr int32_t kWeightChunk = 256;  ///< engine::kLogitChunk
constexpr int32_t kBuckets = 8;        ///< into which a search splits what is left

/// The shared memory of a block that samples. A function that takes it may leave anything in it, but in `chunk_sums`
/// and `thread_tops` only what it says; every thread of the block calls it, with the same arguments.
struct SamplingMemory {
  double sums[kBuckets][kSamplingThreads];
  double warp_sums[kSamplingWarps];
  uint64_t warp_tops[kSamplingWarps];
  uint64_t listed[kTopLogprobsRoom];
  double number;
  int32_t warp_counts[kSamplingWarps];
  int32_t index;
  uint32_t key;
  uint32_t range_high;
  uint32_t range_low_inverted;
  uint32_t thread_tops[kSamplingThreads];  // the largest key each thread has seen of the row
  float weights[kWeightChunk];

  GPU_DEVICE double* chunk_sums() { return reinterpret_cast<double*>(this + 1); }  // [chunks of the vocabulary]
};

GPU_DEVICE int32_t weight_chunks(int32_t count) {
  return (count + kWeightChunk - 1) / kWeightChunk;
}

/// What a launch of a kernel with SamplingMemory asks for.
constexpr size_t sampling_shared_bytes(int32_t vocab_size) {
  return sizeof(SamplingMemory) + static_cast<size_t>(vocab_size / kWeightChunk + 1) * sizeof(double);
}

GPU_DEVICE int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

GPU_DEVICE int32_t count_bits(uint32_t bits) {
  bits -= bits >> 1 & 0x55555555U;
  bits = (bits & 0x33333333U) + (bits >> 2 & 0x33333333U);
  bits = (bits + (bits >> 4)) & 0x0F0F0F0FU;
  return static_cast<int32_t>((bits * 0x01010101U) >> 24);
}

/// The same for all lanes: both sides of an exchange add the same two numbers.
template <typename T>
GPU_DEVICE T sum_of_warp(T value) {
  for (int32_t distance = gpu::kWarpSize / 2; distance > 0; distance /= 2) value += gpu::shuffle_xor(value, distance);
  return value;
}

/// The sum over all threads, in an order that is always the same.
GPU_DEVICE double sum_of_block(double value, SamplingMemory& memory) {
  value = sum_of_warp(value);
  if (gpu::lane() == 0) memory.warp_sums[gpu::warp()] = value;
  gpu::sync_block();
  double sum = 0;
  for (const double of_warp : memory.warp_sums) sum += of_warp;
  gpu::sync_block();
  return sum;
}

GPU_DEVICE uint64_t top_of_block(uint64_t value, SamplingMemory& memory) {
  for (int32_t distance = gpu::kWarpSize / 2; distance > 0; distance /= 2) {
    const uint64_t other = gpu::shuffle_xor(value, distance);
    value = other > value ? other : value;
  }
  if (gpu::lane() == 0) memory.warp_tops[gpu::warp()] = value;
  gpu::sync_block();
  uint64_t top = 0;
  for (const uint64_t of_warp : memory.warp_tops) top = of_warp > top ? of_warp : top;
  gpu::sync_block();
  return top;
}

/// Calls use(i, rank) for each i below `count` that is claimed; rank is how many before it are. Returns how many there
/// are. What `use` writes, all threads see after the call.
template <typename Claim, typename Use>
GPU_DEVICE int32_t visit_in_order(int32_t count, SamplingMemory& memory, const Claim& claim, const Use& use) {
  // Each warp takes a run of its own: once to count, and once more when it knows what the warps before it have.
  const int32_t run = (count + kSamplingThreads - 1) / kSamplingThreads * gpu::kWarpSize;
  const int32_t begin = least(gpu::warp() * run, count);
  const int32_t end = least(begin + run, count);
  int32_t found = 0;
  for (int32_t i = begin + gpu::lane(); i < end; i += gpu::kWarpSize) found += claim(i) ? 1 : 0;
  found = sum_of_warp(found);
  if (gpu::lane() == 0) memory.warp_counts[gpu::warp()] = found;
  gpu::sync_block();
  int32_t rank = 0;
  int32_t total = 0;
  for (int32_t i = 0; i < kSamplingWarps; ++i) {
    rank += i < gpu::warp() ? memory.warp_counts[i] : 0;
    total += memory.warp_counts[i];
  }
  for (int32_t first = begin; found > 0 && first < end; first += gpu::kWarpSize) {
    const int32_t i = first + gpu::lane();
    const bool is_claimed = i < end && claim(i);
    const uint32_t claimed = gpu::ballot(is_claimed);
    if (is_claimed) use(i, rank + count_bits(claimed & ((1U << gpu::lane()) - 1U)));
    rank += count_bits(claimed);
  }
  gpu::sync_block();
  return total;
}

}  // namespace sluice::engine::cuda
