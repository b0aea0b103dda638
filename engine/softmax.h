#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/logit_kernels.h"

namespace sluice::engine {

/// e^x for x <= 0, within 3e-7 of the true value relative to it, exactly 1 at 0; 0 below -87 and for NaN.
/// Plain multiplications and additions in a fixed order, unlike the C library's: the same bits on every machine, and
/// quick in a loop.
inline float exp_nonpositive(float x) {
  // x = n ln 2 + r with |r| <= ln(2)/2, so e^x = 2^n e^r; e^r by its Taylor series to r^7 (remainder below 6e-9).
  // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits of the float.
  constexpr float kRounder = 12582912.0F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  // Masks rather than branches, which would keep compilers from using vectors.
  const uint32_t is_normal = x >= -87.0F ? 0xffffffffU : 0U;
  const float y = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & is_normal);
  const float shifted = y * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (y - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRounder) + 127U;
  const float result = p * std::bit_cast<float>(exponent << 23);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) & is_normal);
}

/// The weights of all logits; returns their sum. As many weights as logits.
double weigh_all(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                 std::span<float> weights);

/// The sum of all weights, which are not kept; only the sums of chunks of kLogitChunk are, in `chunk_sums`.
double sum_weights(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                   std::vector<double>& chunk_sums);

/// The index whose share of the sum holds `unit`, in [0, 1), when the shares lie side by side in the order of the
/// weights (inverse cumulative distribution). Never an index of weight 0. At least one weight is positive.
size_t draw_index(std::span<const float> weights, double unit);

/// The same for the weights of logits, from the sums that sum_weights leaves.
size_t draw_index(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                  std::span<const double> chunk_sums, double unit);

}  // namespace sluice::engine
