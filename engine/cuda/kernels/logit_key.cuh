#pragma once

#include <cstdint>
#include <limits>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {

/// A logit's key is a whole number; keys are ordered as logits are. Both zeros have the same key, and NaNs one below
/// all others.
GPU_DEVICE uint32_t key_of(float logit) {
  if (logit != logit) return 0;
  const auto bits = __builtin_bit_cast(uint32_t, logit + 0.0F);  // -0 + 0 = 0
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

// Constants of their file: device code must not call numeric_limits.
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint32_t kLowestKey = 0x00800000U;    ///< of the lowest finite float
constexpr uint32_t kInfinityKey = 0xFF800000U;  ///< of +infinity

/// Not for the key of NaN.
GPU_DEVICE float logit_of(uint32_t key) {
  return __builtin_bit_cast(float, (key >> 31) != 0 ? key & 0x7FFFFFFFU : ~key);
}

GPU_DEVICE bool is_finite_key(uint32_t key) {
  return key >= kLowestKey && key < kInfinityKey;
}

/// The smallest key whose logit is finite and at least `floor`, which is not above the largest float.
GPU_DEVICE uint32_t key_of_floor(double floor) {
  const double lowest = static_cast<double>(logit_of(kLowestKey));
  const auto nearest = static_cast<float>(floor > lowest ? floor : lowest);
  return key_of(nearest) + (static_cast<double>(nearest) < floor ? 1U : 0U);
}

/// Larger for the likelier token: the larger logit, then the lower id.
GPU_DEVICE uint64_t likelihood_of(uint32_t key, int32_t token) {
  return static_cast<uint64_t>(key) << 32 | (0xFFFFFFFFU - static_cast<uint32_t>(token));
}

GPU_DEVICE uint32_t key_of_likelihood(uint64_t likelihood) {
  return static_cast<uint32_t>(likelihood >> 32);
}

GPU_DEVICE int32_t token_of_likelihood(uint64_t likelihood) {
  return static_cast<int32_t>(0xFFFFFFFFU - static_cast<uint32_t>(likelihood));
}

}  // namespace sluice::engine::cuda
