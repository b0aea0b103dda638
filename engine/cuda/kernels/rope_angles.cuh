#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {

constexpr int32_t kAnglesThreads = 128;

/// angles [tokens, pairs, 2] = magnitude * (cosine, sine) of positions[t] * frequencies[pair]: what a token's heads are
/// turned by. In double, since at long positions a float angle would be off by whole hundredths. A block per token.
GPU_KERNEL(kAnglesThreads)
void rope_angles_kernel(float* angles, const int32_t* positions, const double* frequencies, int32_t pairs,
                        double magnitude) {
  const auto token = static_cast<int64_t>(gpu::block_index().x);
  for (auto pair = static_cast<int32_t>(gpu::thread_index().x); pair < pairs; pair += kAnglesThreads) {
    const double angle = positions[token] * frequencies[pair];
    float* to = angles + (token * pairs + pair) * 2;
    to[0] = static_cast<float>(magnitude * gpu::cos(angle));
    to[1] = static_cast<float>(magnitude * gpu::sin(angle));
  }
}

struct RopeAnglesArgs {
  const int32_t* positions = nullptr;   // [tokens]
  const double* frequencies = nullptr;  // [pairs], radians per position
  float* angles = nullptr;              // [tokens, pairs, 2]
  int32_t tokens = 0;
  int32_t pairs = 0;
  double magnitude = 1;
};

inline int32_t launch_rope_angles(const RopeAnglesArgs& args, void* stream) {
  const gpu::Launch how{.grid = {static_cast<uint32_t>(args.tokens)}, .block = {kAnglesThreads}, .stream = stream};
  return gpu::launch<rope_angles_kernel>(how, args.angles, args.positions, args.frequencies, args.pairs,
                                         args.magnitude);
}

}  // namespace sluice::engine::cuda
