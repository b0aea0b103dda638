#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"

// Sums in an order that the number of lanes or threads alone decides.

namespace sluice::engine::cuda {

/// Of `lanes` neighbours, a power of two up to a warp; every one of them gets the sum. The whole warp calls.
GPU_DEVICE float sum_of_lanes(float value, int32_t lanes = gpu::kWarpSize) {
  for (int32_t distance = lanes / 2; distance > 0; distance /= 2) value += gpu::shuffle_xor(value, distance);
  return value;
}

struct WarpSums {
  float of[gpu::kWarpSize];
};

/// Of the whole block, which has one dimension and consists of whole warps; every thread gets the sum. `warps` is
/// shared memory that no other sum of the kernel uses.
GPU_DEVICE float sum_of_block(float value, WarpSums& warps) {
  const float of_warp = sum_of_lanes(value);
  if (gpu::lane() == 0) warps.of[gpu::warp()] = of_warp;
  gpu::sync_block();
  const int32_t warp_count = static_cast<int32_t>(gpu::block_size().x) / gpu::kWarpSize;
  return sum_of_lanes(gpu::lane() < warp_count ? warps.of[gpu::lane()] : 0.0F);
}

struct WarpLargest {
  float of[gpu::kWarpSize];
};

/// Of numbers that are 0 at least; as sum_of_lanes, and what is NaN doesn't count.
GPU_DEVICE float largest_of_lanes(float value, int32_t lanes = gpu::kWarpSize) {
  for (int32_t distance = lanes / 2; distance > 0; distance /= 2) {
    const float other = gpu::shuffle_xor(value, distance);
    value = other > value ? other : value;
  }
  return value;
}

/// As sum_of_block.
GPU_DEVICE float largest_of_block(float value, WarpLargest& warps) {
  const float of_warp = largest_of_lanes(value);
  if (gpu::lane() == 0) warps.of[gpu::warp()] = of_warp;
  gpu::sync_block();
  const int32_t warp_count = static_cast<int32_t>(gpu::block_size().x) / gpu::kWarpSize;
  return largest_of_lanes(gpu::lane() < warp_count ? warps.of[gpu::lane()] : 0.0F);
}

}  // namespace sluice::engine::cuda
