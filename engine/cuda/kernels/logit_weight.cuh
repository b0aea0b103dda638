#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/logit_key.cuh"

namespace sluice::engine::cuda {

/// A logit's weight is e^((logit - max) / temperature), as in engine/logit_kernels.h.
struct WeightScale {
  float max;                  ///< finite
  float inverse_temperature;  ///< 1 / temperature rounded to float
};

/// engine::exp_nonpositive to the bit: e^x for x <= 0, exactly 1 at 0, 0 below -87 and for NaN. The algebra stands
/// there. Products that are added are rounded first, as there; a device would else make one instruction of the two.
GPU_DEVICE float exp_nonpositive(float x) {
  constexpr float kRounder = 12582912.0F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  if (!(x >= -87.0F)) return 0.0F;
  const float shifted = gpu::rounded_product(x, kLog2E) + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - gpu::rounded_product(n, kLn2High)) - gpu::rounded_product(n, kLn2Low);
  float p = 1.0F / 5040;
  p = gpu::rounded_product(p, r) + 1.0F / 720;
  p = gpu::rounded_product(p, r) + 1.0F / 120;
  p = gpu::rounded_product(p, r) + 1.0F / 24;
  p = gpu::rounded_product(p, r) + 1.0F / 6;
  p = gpu::rounded_product(p, r) + 0.5F;
  p = gpu::rounded_product(p, r) + 1.0F;
  p = gpu::rounded_product(p, r) + 1.0F;
  const uint32_t exponent = __builtin_bit_cast(uint32_t, shifted) - __builtin_bit_cast(uint32_t, kRounder) + 127U;
  return gpu::rounded_product(p, __builtin_bit_cast(float, exponent << 23));
}

/// 0 for NaN.
GPU_DEVICE float weight_of(float logit, const WeightScale& scale) {
  return exp_nonpositive(gpu::rounded_product(logit - scale.max, scale.inverse_temperature));
}

/// log(x) within 1e-15 of it or of 1, whichever is larger; -infinity at 0. x is a finite number from 0, not subnormal.
GPU_DEVICE double natural_log(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  if (x <= 0) return -static_cast<double>(kInfinity);
  // x = 2^n m with m from sqrt(1/2) to sqrt(2), so log x = n log 2 + 2 artanh(s) with s = (m - 1) / (m + 1), s^2 <
  // 0.03.
  const auto bits = __builtin_bit_cast(uint64_t, x);
  constexpr uint64_t kFraction = (1ULL << 52) - 1;
  double m = __builtin_bit_cast(double, (bits & kFraction) | 1023ULL << 52);
  auto n = static_cast<double>(static_cast<int32_t>(bits >> 52) - 1023);
  if (m > 1.41421356237309505) {
    m /= 2;
    n += 1;
  }
  const double s = (m - 1) / (m + 1);
  double series = 0;
  for (int32_t power = 23; power >= 1; power -= 2) series = series * s * s + 1.0 / power;
  return n * kLn2 + 2 * s * series;
}

}  // namespace sluice::engine::cuda
