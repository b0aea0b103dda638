#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cuda/kernels/attention_batch.cuh"

namespace sluice::engine::cuda {

/// How decode divides a token's keys among thread blocks, which the device needs to be busy with few rows of long
/// contexts. The parts are a function of the keys that the token sees and of nothing else: sums that were added in
/// another order when other rows came or went would make a token depend on its batch.
struct SplitLimits {
  int32_t keys_min = 256;  ///< a part with fewer keys is not worth its merge
  int32_t splits_max = 32;
};

/// Parts that cover any context up to the longest: the grid's first dimension. A graph's grid is planned for the
/// longest context it will meet; blocks without a part return at once.
inline int32_t plan_splits(int32_t context_longest, int32_t window, SplitLimits limits) {
  const int32_t seen = window > 0 ? std::min(context_longest, window) : context_longest;
  return std::clamp((seen + limits.keys_min - 1) / limits.keys_min, 1, limits.splits_max);
}

/// A multiple of 64, so that parts begin where tiles do, unless keys_min isn't.
GPU_DEVICE int32_t keys_per_split(int32_t seen, SplitLimits limits) {
  const int32_t even = (seen + limits.splits_max - 1) / limits.splits_max;
  const int32_t whole = (even + 63) / 64 * 64;
  return whole > limits.keys_min ? whole : limits.keys_min;
}

GPU_DEVICE int32_t split_count(KeyRange seen, SplitLimits limits) {
  const int32_t keys = keys_per_split(seen.end - seen.begin, limits);
  return (seen.end - seen.begin + keys - 1) / keys;
}

/// Empty (end <= begin) at and beyond split_count.
GPU_DEVICE KeyRange split_part(KeyRange seen, int32_t split, SplitLimits limits) {
  const int32_t keys = keys_per_split(seen.end - seen.begin, limits);
  const int32_t begin = seen.begin + split * keys;
  return {begin, begin + keys < seen.end ? begin + keys : seen.end};
}

}  // namespace sluice::engine::cuda
