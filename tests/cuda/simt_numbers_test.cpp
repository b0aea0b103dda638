#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"

namespace sluice::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// What bits stand for, from the format's definition. NaN where they are none.
double value_of(uint32_t bits, int mantissa_bits, int exponent_bits) {
  const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const auto exponent = static_cast<int>(bits >> mantissa_bits & ((1U << exponent_bits) - 1));
  const double sign = (bits >> (mantissa_bits + exponent_bits) & 1U) != 0 ? -1.0 : 1.0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias) : sign * std::ldexp(1.0 + fraction, exponent - bias);
}

double value_of(Bf16 number) {
  return value_of(number.bits, 7, 8);
}
double value_of(Half number) {
  return value_of(number.bits, 10, 5);
}
double value_of(Fp8 number) {
  return value_of(number.bits, 3, 4);
}

/// Each finite number comes back as itself; what lies between it and its larger neighbour goes to the nearer of them,
/// and to the even one from the middle.
template <typename Number>
void expect_exact_rounding(uint32_t largest_bits, uint32_t sign_bit) {
  using Bits = decltype(Number::bits);
  for (const uint32_t sign : {0U, sign_bit})
    for (uint32_t bits = 0; bits <= largest_bits; ++bits) {
      const Number number{static_cast<Bits>(sign | bits)};
      const auto value = static_cast<float>(value_of(number));
      ASSERT_EQ(std::bit_cast<uint32_t>(to_float(number)), std::bit_cast<uint32_t>(value)) << bits;
      ASSERT_EQ(from_float<Number>(value).bits, number.bits) << bits;
      if (bits == largest_bits) continue;
      const Number next{static_cast<Bits>(number.bits + 1)};
      const auto middle = static_cast<float>((value_of(number) + value_of(next)) / 2);
      ASSERT_EQ(from_float<Number>(middle).bits, bits % 2 == 0 ? number.bits : next.bits) << bits;
      ASSERT_EQ(from_float<Number>(std::nextafter(middle, 0.0F)).bits, number.bits) << bits;
      ASSERT_EQ(from_float<Number>(std::nextafter(middle, sign == 0 ? kInfinity : -kInfinity)).bits, next.bits) << bits;
    }
}

TEST(GpuNumbers, RoundToTheNearestAndTiesToEven) {
  expect_exact_rounding<Bf16>(0x7F7F, 0x8000);
  expect_exact_rounding<Half>(0x7BFF, 0x8000);
  expect_exact_rounding<Fp8>(0x7E, 0x80);
}

TEST(GpuNumbers, OverflowToInfinityOrToTheLargest) {
  EXPECT_EQ(from_float<Bf16>(0x1.FEFFFEp127F).bits, 0x7F7F);
  EXPECT_EQ(from_float<Bf16>(-0x1.FFp127F).bits, 0xFF80);
  EXPECT_EQ(from_float<Bf16>(kInfinity).bits, 0x7F80);
  EXPECT_EQ(to_float(Bf16{0xFF80}), -kInfinity);
  EXPECT_EQ(from_float<Half>(65519.996F).bits, 0x7BFF);
  EXPECT_EQ(from_float<Half>(65520.0F).bits, 0x7C00);
  EXPECT_EQ(from_float<Half>(-1e30F).bits, 0xFC00);
  EXPECT_EQ(from_float<Half>(kInfinity).bits, 0x7C00);
  EXPECT_EQ(to_float(Half{0xFC00}), -kInfinity);
  EXPECT_EQ(from_float<Fp8>(449.0F).bits, 0x7E);
  EXPECT_EQ(from_float<Fp8>(-1e30F).bits, 0xFE);
  EXPECT_EQ(from_float<Fp8>(kInfinity).bits, 0x7E);
}

TEST(GpuNumbers, KeepWhatIsNotANumber) {
  EXPECT_EQ(from_float<Bf16>(kNan).bits, 0x7FFF);
  EXPECT_EQ(from_float<Half>(-kNan).bits, 0x7FFF);
  EXPECT_EQ(from_float<Fp8>(kNan).bits, 0x7F);
  // Shared memory before it is written, in each format.
  EXPECT_TRUE(std::isnan(to_float(Bf16{0xFFFF})));
  EXPECT_TRUE(std::isnan(to_float(Half{0xFFFF})));
  EXPECT_TRUE(std::isnan(to_float(Fp8{0xFF})));
  EXPECT_TRUE(std::isnan(to_float(Half{0x7C01})));
  EXPECT_TRUE(std::isnan(to_float(Bf16{0x7F81})));
}

TEST(GpuNumbers, LeaveFloatsAlone) {
  EXPECT_EQ(to_float(1.25F), 1.25F);
  EXPECT_EQ(from_float<float>(1.25F), 1.25F);
}

TEST(GpuNumbers, PackTheFirstLow) {
  EXPECT_EQ(pack_bf16(1.0F, -2.0F), 0xC0003F80U);
}

}  // namespace
}  // namespace sluice::gpu
