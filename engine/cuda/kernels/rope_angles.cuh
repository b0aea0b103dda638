#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {

/// angles [tokens, pairs, 2] = magnitude * (cosine, sine) of positions[t] * frequencies[pair]: what a token's heads are
/// turned by. In double, since at long positions a float angle would be off by whole hundredths. A block per token.
GPU_KERNEL(256)
void rope_angles(float* angles, const int32_t* positions, const double* frequencies, int32_t pairs, double magnitude) {
  const auto token = static_cast<int64_t>(gpu::block_index().x);
  for (auto pair = static_cast<int32_t>(gpu::thread_index().x); pair < pairs;
       pair += static_cast<int32_t>(gpu::block_size().x)) {
    const double angle = positions[token] * frequencies[pair];
    float* to = angles + (token * pairs + pair) * 2;
    to[0] = static_cast<float>(magnitude * gpu::cos(angle));
    to[1] = static_cast<float>(magnitude * gpu::sin(angle));
  }
}

}  // namespace sluice::engine::cuda
