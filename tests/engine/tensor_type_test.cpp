#include "engine/tensor_type.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::vector<float> decoded(TensorType type, std::string_view hex, size_t elements) {
  const std::vector<std::byte> bytes = from_hex(hex);
  std::vector<float> out(elements);
  dequantize(type, bytes, out);
  return out;
}

constexpr std::string_view kNibbles = "f0e1d2c3b4a5968778695a4b3c2d1e0f";

TEST(B32_QuantBlocks, a_Q4_1KeepsLowNibblesFirst) {
  const std::vector<float> values = decoded(TensorType::kQ4_1, "003800bc" + std::string(kNibbles), 32);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], -1.0F + 0.5F * static_cast<float>(i));
    EXPECT_EQ(values[16 + i], 6.5F - 0.5F * static_cast<float>(i));
  }
}

TEST(B32_QuantBlocks, b_Q8_0ReadsSignedBytes) {
  std::vector<std::byte> block = from_hex("0034");  // d = 0.25
  for (int q = -128; q <= 120; q += 8) block.push_back(static_cast<std::byte>(q));
  std::vector<float> values(32);
  dequantize(TensorType::kQ8_0, block, values);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(values[i], -32.0F + 2.0F * static_cast<float>(i));
}

TEST(B32_QuantBlocks, c_Q8_0KeepsASubnormalScale) {
  const std::vector<float> values = decoded(TensorType::kQ8_0, "01007f81" + std::string(60, '0'), 32);
  EXPECT_FLOAT_EQ(values[0], 7.5697899e-06F);
  EXPECT_FLOAT_EQ(values[1], -7.5697899e-06F);
  EXPECT_EQ(values[2], 0.0F);
}

TEST(B32_QuantBlocks, d_Q4_0IsCentredOnEight) {
  const std::vector<float> values = decoded(TensorType::kQ4_0, "0038" + std::string(kNibbles), 32);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], -4.0F + 0.5F * static_cast<float>(i));
    EXPECT_EQ(values[16 + i], 3.5F - 0.5F * static_cast<float>(i));
  }
}

TEST(B32_QuantBlocks, e_Bf16IsTheUpperHalfOfAFloat) {
  const std::vector<float> values = decoded(TensorType::kBf16, "c03f49c00100", 3);
  EXPECT_EQ(values[0], 1.5F);
  EXPECT_EQ(values[1], -3.140625F);
  EXPECT_EQ(values[2], 0x1p-133F);  // 9.18e-41
}

TEST(TensorType, DecodesSeveralBlocksInOrder) {
  const std::string block = "003c" + std::string(kNibbles);
  const std::string other = "0040" + std::string(kNibbles);
  const std::vector<float> values = decoded(TensorType::kQ4_0, block + other, 64);
  EXPECT_EQ(values[0], -8.0F);
  EXPECT_EQ(values[32], -16.0F);
}

TEST(TensorType, DecodesPlainFloatsAndHalves) {
  EXPECT_EQ(decoded(TensorType::kF32, "0000c03f", 1)[0], 1.5F);
  EXPECT_EQ(decoded(TensorType::kF16, "003e00c0", 2), (std::vector<float>{1.5F, -2.0F}));
}

TEST(TensorType, CountsBytesByBlocks) {
  EXPECT_EQ(tensor_bytes(TensorType::kF32, 3), 12);
  EXPECT_EQ(tensor_bytes(TensorType::kBf16, 3), 6);
  EXPECT_EQ(tensor_bytes(TensorType::kQ4_0, 64), 36);
  EXPECT_EQ(tensor_bytes(TensorType::kQ4_1, 64), 40);
  EXPECT_EQ(tensor_bytes(TensorType::kQ5_0, 64), 44);
  EXPECT_EQ(tensor_bytes(TensorType::kQ5_1, 64), 48);
  EXPECT_EQ(tensor_bytes(TensorType::kQ8_0, 64), 68);
  EXPECT_EQ(tensor_bytes(TensorType::kQ4_K, 512), 288);
  EXPECT_EQ(tensor_bytes(TensorType::kMxfp4, 64), 34);
}

TEST(TensorType, NamesTypesItCannotCompute) {
  EXPECT_FALSE(tensor_type_from_gguf(16).has_value());
  EXPECT_EQ(gguf_type_name(16), "IQ2_XXS");
  EXPECT_EQ(gguf_type_name(40), "NVFP4");
  EXPECT_EQ(gguf_type_name(4), "type 4");
  EXPECT_EQ(gguf_type_name(77), "type 77");
}

TEST(TensorType, KnowsItsOwnTypesByNumberAndName) {
  EXPECT_EQ(tensor_type_from_gguf(6), TensorType::kQ5_0);
  EXPECT_EQ(tensor_type_from_gguf(7), TensorType::kQ5_1);
  EXPECT_EQ(tensor_type_from_gguf(8), TensorType::kQ8_0);
  EXPECT_EQ(tensor_type_from_gguf(30), TensorType::kBf16);
  const std::pair<TensorType, std::string_view> all[] = {
      {TensorType::kF32, "F32"},    {TensorType::kF16, "F16"},      {TensorType::kBf16, "BF16"},
      {TensorType::kQ4_0, "Q4_0"},  {TensorType::kQ4_1, "Q4_1"},    {TensorType::kQ5_0, "Q5_0"},
      {TensorType::kQ5_1, "Q5_1"},  {TensorType::kQ8_0, "Q8_0"},    {TensorType::kQ2_K, "Q2_K"},
      {TensorType::kQ3_K, "Q3_K"},  {TensorType::kQ4_K, "Q4_K"},    {TensorType::kQ5_K, "Q5_K"},
      {TensorType::kQ6_K, "Q6_K"},  {TensorType::kIq4Nl, "IQ4_NL"}, {TensorType::kIq4Xs, "IQ4_XS"},
      {TensorType::kMxfp4, "MXFP4"}};
  for (const auto& [type, name] : all) {
    EXPECT_EQ(tensor_type_name(type), name);
    EXPECT_EQ(tensor_type_from_gguf(static_cast<uint32_t>(type)), type);
    EXPECT_LT(static_cast<int32_t>(type), kTensorTypeNumbers);
  }
}

/// A file that scripts/expect_quants.py wrote: blocks, and the bits of their numbers.
struct ExpectedNumbers {
  std::vector<std::byte> blocks;
  std::vector<uint32_t> numbers;
};

ExpectedNumbers read_expected(TensorType type) {
  std::ifstream in(SLUICE_SOURCE_DIR "/tests/data/quants/" + tensor_type_name(type) + ".bin", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const TensorTypeTraits traits = traits_of(type);
  const size_t count = bytes.size() / static_cast<size_t>(traits.block_bytes + 4 * traits.block_elements);
  ExpectedNumbers expected{std::vector<std::byte>(count * static_cast<size_t>(traits.block_bytes)),
                           std::vector<uint32_t>(count * static_cast<size_t>(traits.block_elements))};
  std::memcpy(expected.blocks.data(), bytes.data(), expected.blocks.size());
  std::memcpy(expected.numbers.data(), bytes.data() + expected.blocks.size(), 4 * expected.numbers.size());
  return expected;
}

class DecodedNumbers : public ::testing::TestWithParam<TensorType> {};

TEST_P(DecodedNumbers, AreBitEqualToGgufsForAnyBlocks) {
  const ExpectedNumbers expected = read_expected(GetParam());
  ASSERT_GE(expected.numbers.size(), 1024U);
  std::vector<float> out(expected.numbers.size());
  dequantize(GetParam(), expected.blocks, out);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto wanted = std::bit_cast<float>(expected.numbers[i]);
    if (std::isnan(wanted)) {  // infinity times zero: which NaN is the processor's business
      ASSERT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), expected.numbers[i]) << i << ": " << out[i] << " != " << wanted;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DecodedNumbers,
                         ::testing::Values(TensorType::kF32, TensorType::kF16, TensorType::kBf16, TensorType::kQ4_0,
                                           TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0,
                                           TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kQ4_K, TensorType::kQ5_K,
                                           TensorType::kQ6_K, TensorType::kIq4Nl, TensorType::kIq4Xs,
                                           TensorType::kMxfp4),
                         [](const auto& info) { return tensor_type_name(info.param); });

TEST(Half, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
      EXPECT_EQ(float_to_half(value) & 0x8000, half & 0x8000);
    } else {
      ASSERT_EQ(float_to_half(value), half) << value;
    }
  }
}

TEST(Half, DecodesByTheDefinition) {
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24F);
  EXPECT_EQ(half_to_float(0x03ff), 1023 * 0x1p-24F);
  EXPECT_EQ(half_to_float(0x0400), 0x1p-14F);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0F);
  EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
}

// Between each pair of neighbours: the middle goes to the even one, anything off the middle to the nearer one.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<uint16_t>(bits);
    const auto high = static_cast<uint16_t>(bits + 1);
    const float middle = (half_to_float(low) + half_to_float(high)) / 2;
    ASSERT_EQ(float_to_half(middle), bits % 2 == 0 ? low : high);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), low);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), high);
  }
}

TEST(Half, OverflowsToInfinityHalfAStepPastTheLargest) {
  EXPECT_EQ(float_to_half(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_half(-1e30F), 0xfc00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(float_to_half(1e-10F), 0);
  EXPECT_EQ(float_to_half(-1e-10F), 0x8000);
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(float_to_bf16(1.5F), 0x3fc0);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // middle, even below
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // middle, even above
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x00008001U)), 0x0001);  // subnormal
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Bf16, KeepsNanAndInfinity) {
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_EQ(float_to_bf16(-std::numeric_limits<float>::infinity()), 0xff80);
}

}  // namespace
}  // namespace sluice::engine
