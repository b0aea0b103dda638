#include "engine/cuda/simt/simt_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sluice::gpu::simt {
namespace {

/// A small float: a sign, exponent bits, then mantissa bits. The largest exponent is left to the callers.
struct Format {
  int mantissa_bits;
  int exponent_bias;
};

constexpr Format kHalf{.mantissa_bits = 10, .exponent_bias = 15};
constexpr Format kE4m3{.mantissa_bits = 3, .exponent_bias = 7};

/// The number that bits without their sign stand for, were the largest exponent like all others.
float magnitude_of(uint32_t bits, Format format) {
  const auto exponent = static_cast<int>(bits >> format.mantissa_bits);
  const uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
  // Subnormal numbers have the exponent of the smallest normal ones, without the leading one.
  const uint32_t significand = exponent == 0 ? mantissa : mantissa | 1U << format.mantissa_bits;
  const int power = (exponent == 0 ? 1 : exponent) - format.exponent_bias - format.mantissa_bits;
  return std::ldexp(static_cast<float>(significand), power);
}

/// The nearest number's bits without its sign, which may carry into exponents that the format doesn't have. `magnitude`
/// is finite and at most 2^17.
uint32_t nearest_bits(float magnitude, Format format) {
  const int smallest_power = 1 - format.exponent_bias;
  const int power = magnitude == 0.0F ? smallest_power : std::max(std::ilogb(magnitude), smallest_power);
  // In units of the last place: an integer after rounding, of at most mantissa_bits + 1 bits or one beyond.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - power)));
  // The leading one adds itself to the exponent field; a subnormal number has none, and its field stays 0.
  return units + (static_cast<uint32_t>(power - smallest_power) << format.mantissa_bits);
}

}  // namespace

float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float half_to_float(uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude > 0x7C00U) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude == 0x7C00U) return sign * std::numeric_limits<float>::infinity();
  return sign * magnitude_of(magnitude, kHalf);
}

float fp8_to_float(uint8_t bits) {
  const float sign = (bits & 0x80U) != 0 ? -1.0F : 1.0F;
  const uint32_t magnitude = bits & 0x7FU;
  if (magnitude == 0x7FU) return std::numeric_limits<float>::quiet_NaN();
  return sign * magnitude_of(magnitude, kE4m3);
}

uint16_t float_to_bf16(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const auto bits = std::bit_cast<uint32_t>(value);
  // Half a last place less one, and one more if the last place is odd: ties go to the even neighbour.
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

uint16_t float_to_half(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const float magnitude = std::min(std::abs(value), 65536.0F);
  const uint32_t nearest = nearest_bits(magnitude, kHalf);
  return static_cast<uint16_t>(sign | std::min(nearest, 0x7C00U));
}

uint8_t float_to_fp8(float value) {
  if (std::isnan(value)) return 0x7F;
  const uint32_t sign = std::signbit(value) ? 0x80U : 0U;
  const float magnitude = std::min(std::abs(value), 448.0F);
  return static_cast<uint8_t>(sign | nearest_bits(magnitude, kE4m3));
}

}  // namespace sluice::gpu::simt
