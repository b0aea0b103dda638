#pragma once

#include <cstdint>
#include <limits>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/logit_candidates.cuh"
#include "engine/cuda/kernels/sampling_block.cuh"

namespace sluice::engine::cuda {

/// Candidates of equal logits, among which the running sum of masses, likeliest first, comes to what was searched for.
struct MassPoint {
  uint32_t key;
  double left;  ///< of the mass, when those above are taken off
};

/// When a running sum has come far enough.
enum class Until {
  kReached,  ///< sum >= mass
  kPassed,   ///< sum > mass
};

struct KeyRange {
  uint32_t low;
  uint32_t high;

  GPU_DEVICE bool holds(uint32_t key) const { return key >= low && key <= high; }
};

/// Into how many bits less than all a key must be shifted so that the range comes to at most kBuckets numbers.
GPU_DEVICE int32_t bucket_shift(const KeyRange& range) {
  int32_t shift = 0;
  while ((range.high - range.low) >> shift >= static_cast<uint32_t>(kBuckets)) ++shift;
  return shift;
}

/// The sums of masses in each bucket of the range, the highest first, in memory.warp_sums.
template <typename MassAt>
GPU_DEVICE void sum_buckets(const Candidates& candidates, const KeyRange& range, int32_t shift, SamplingMemory& memory,
                            const MassAt& mass_at) {
  static_assert(kBuckets == kSamplingWarps);
  double sums[kBuckets] = {};
  for (int32_t i = thread_number(); i < candidates.count; i += kSamplingThreads) {
    if (!range.holds(candidates.keys[i])) continue;
    const auto bucket = static_cast<int32_t>((range.high - candidates.keys[i]) >> shift);
    const double mass = mass_at(i);
    // No index that changes: the sums stay in registers.
    for (int32_t j = 0; j < kBuckets; ++j) sums[j] += j == bucket ? mass : 0.0;
  }
  for (int32_t j = 0; j < kBuckets; ++j) memory.sums[j][thread_number()] = sums[j];
  gpu::sync_block();
  double sum = 0;
  for (int32_t i = gpu::lane(); i < kSamplingThreads; i += gpu::kWarpSize) sum += memory.sums[gpu::warp()][i];
  sum = sum_of_warp(sum);
  if (gpu::lane() == 0) memory.warp_sums[gpu::warp()] = sum;
  if (thread_number() == 0) memory.range_high = memory.range_low_inverted = 0;  // for shrink
  gpu::sync_block();
}

/// The part of the range from its first candidate with some mass to its last. A few rounds are saved where candidates
/// are few. Maxima come out the same in any order.
template <typename MassAt>
GPU_DEVICE KeyRange shrink(const Candidates& candidates, const KeyRange& range, SamplingMemory& memory,
                           const MassAt& mass_at) {
  KeyRange own{0xFFFFFFFFU, 0};
  for (int32_t i = thread_number(); i < candidates.count; i += kSamplingThreads) {
    const uint32_t key = candidates.keys[i];
    if (!range.holds(key) || mass_at(i) <= 0) continue;
    own = {key < own.low ? key : own.low, key > own.high ? key : own.high};
  }
  if (own.low <= own.high) {
    gpu::atomic_max(&memory.range_high, own.high);
    gpu::atomic_max(&memory.range_low_inverted, ~own.low);
  }
  gpu::sync_block();
  return {~memory.range_low_inverted, memory.range_high};
}

/// The bucket in which the sum comes to `mass`, else the last of positive sum: rounding may leave some mass behind.
/// `mass` becomes what is left of it there.
template <Until kUntil>
GPU_DEVICE int32_t pick_bucket(const double (&sums)[kBuckets], double& mass) {
  int32_t picked = 0;
  double left = mass;
  for (int32_t bucket = 0; bucket < kBuckets; ++bucket) {
    const double sum = sums[bucket];
    if (sum <= 0) continue;
    picked = bucket;
    mass = left;
    if (kUntil == Until::kReached ? sum >= left : sum > left) break;
    left -= sum;
  }
  return picked;
}

/// Where the running sum of masses, likeliest first, comes to `mass`. All candidates lie in the range, and one there
/// has some mass. Each round leaves at most an eighth of the range; nothing is sorted.
template <Until kUntil, typename MassAt>
GPU_DEVICE MassPoint find_mass(const Candidates& candidates, KeyRange range, double mass, SamplingMemory& memory,
                               const MassAt& mass_at) {
  while (range.low < range.high) {
    const int32_t shift = bucket_shift(range);
    sum_buckets(candidates, range, shift, memory, mass_at);
    const auto bucket = static_cast<uint32_t>(pick_bucket<kUntil>(memory.warp_sums, mass));
    const uint32_t high = range.high - (bucket << shift);
    const uint32_t width = 1U << shift;
    range = {high - range.low < width ? range.low : high - width + 1, high};
    range = shrink(candidates, range, memory, mass_at);
  }
  gpu::sync_block();
  return {range.high, mass};
}

constexpr int32_t kAll = std::numeric_limits<int32_t>::max();

/// How many of equal weights it takes to reach what is left: at least one.
GPU_DEVICE int32_t count_to_reach(double left, double weight) {
  if (!(left < weight * kAll)) return kAll;
  auto count = static_cast<int32_t>(left / weight);
  if (count > 0) --count;  // division may round up
  while (count * weight < left) ++count;
  return count > 0 ? count : 1;
}

/// Which of equal weights, from 0, the running sum passes what is left with.
GPU_DEVICE int32_t index_to_pass(double left, double weight) {
  if (!(left < weight * kAll)) return kAll;
  auto index = static_cast<int32_t>(left / weight);
  if (index > 0) --index;
  while ((index + 1) * weight <= left) ++index;
  return index;
}

/// Sets to 0 the weights of all less likely than the first `kept` candidates with this key.
GPU_DEVICE void cut_below(uint32_t key, int32_t kept, SamplingMemory& memory, const Candidates& candidates) {
  for (int32_t i = thread_number(); i < candidates.count; i += kSamplingThreads)
    if (candidates.keys[i] < key) candidates.weights[i] = 0.0F;
  visit_in_order(
      candidates.count, memory, [&](int32_t i) { return candidates.keys[i] == key; },
      [&](int32_t i, int32_t rank) {
        if (rank >= kept) candidates.weights[i] = 0.0F;
      });
}

}  // namespace sluice::engine::cuda
