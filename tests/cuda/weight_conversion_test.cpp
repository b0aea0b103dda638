#include "engine/cuda/weight_conversion.h"

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

/// Every number of 16 bits, as a half or a bf16, or as the upper half of a float with some bits below. Without NaNs,
/// whose bits are not promised.
std::vector<uint8_t> all_numbers(TensorType type) {
  const auto bytes = static_cast<size_t>(traits_of(type).block_bytes);
  std::vector<uint8_t> stored;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint32_t below = 0x7fffU + bits % 3;  // less than half of bf16's last place, half of it, more
    const uint32_t value = bytes == 2 ? bits : bits << 16 | below;
    std::vector<uint8_t> number(bytes);
    std::memcpy(number.data(), &value, bytes);
    float decoded = 0;
    dequantize(type, std::as_bytes(std::span(number)), {&decoded, 1});
    if (!std::isnan(decoded)) stored.insert(stored.end(), number.begin(), number.end());
  }
  return stored;
}

template <typename Out>
std::vector<Out> converted(TensorType type, Element element, const std::vector<uint8_t>& stored) {
  const auto count = static_cast<int64_t>(stored.size()) / traits_of(type).block_bytes;
  GuardedBuffer<Out> buffer(count);
  const StoredElements from{.type = type, .data = stored.data(), .count = count};
  EXPECT_EQ(launch_weight_conversion(from, element, buffer.data(), nullptr), 0);
  return buffer.take();
}

TEST(WeightConversion, GivesAllFloatsAsTheHostDoes) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16}) {
    SCOPED_TRACE(tensor_type_name(type));
    const auto stored = all_numbers(type);
    std::vector<float> expected(stored.size() / static_cast<size_t>(traits_of(type).block_bytes));
    EXPECT_GT(expected.size(), 63000U);
    dequantize(type, std::as_bytes(std::span(stored)), expected);
    EXPECT_TRUE(is_same(converted<float>(type, Element::kF32, stored), expected));
    std::vector<gpu::Bf16> rounded;
    for (const float value : expected) rounded.push_back({float_to_bf16(value)});
    EXPECT_TRUE(is_same(converted<gpu::Bf16>(type, Element::kBf16, stored), rounded));
  }
}

/// `count` of the stored numbers from number `first` on, brought to `shift` elements past an aligned address.
template <typename Out>
std::vector<Out> converted_part(TensorType type, Element element, const std::vector<uint8_t>& stored, int64_t first,
                                int64_t count, int64_t shift) {
  GuardedBuffer<Out> buffer(count, shift);
  const StoredElements from{.type = type, .data = stored.data() + first * traits_of(type).block_bytes, .count = count};
  EXPECT_EQ(launch_weight_conversion(from, element, buffer.data(), nullptr), 0);
  return buffer.take();
}

// A thread has eight: it moves them at once where both ends are aligned and all eight are there.
TEST(WeightConversion, TakesAnyCountFromAndToAnyAddress) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16}) {
    SCOPED_TRACE(tensor_type_name(type));
    const auto stored = all_numbers(type);
    std::vector<float> all(stored.size() / static_cast<size_t>(traits_of(type).block_bytes));
    dequantize(type, std::as_bytes(std::span(stored)), all);
    for (const int64_t count : {1, 7, 8, 9, 2047, 2048, 2049}) {
      for (const int64_t first : {0, 1, 4}) {
        const std::vector<float> expected(all.begin() + first, all.begin() + first + count);
        std::vector<gpu::Bf16> rounded;
        for (const float value : expected) rounded.push_back({float_to_bf16(value)});
        for (const int64_t shift : {0, 3}) {
          EXPECT_TRUE(is_same(converted_part<float>(type, Element::kF32, stored, first, count, shift), expected));
          EXPECT_TRUE(is_same(converted_part<gpu::Bf16>(type, Element::kBf16, stored, first, count, shift), rounded));
        }
      }
    }
  }
}

TEST(WeightConversion, IsNotNeededForTheTypesThatDevicesKeep) {
  EXPECT_TRUE(is_stored_as(TensorType::kBf16, Element::kBf16));
  EXPECT_TRUE(is_stored_as(TensorType::kF32, Element::kF32));
  EXPECT_FALSE(is_stored_as(TensorType::kF16, Element::kBf16));
  EXPECT_FALSE(is_stored_as(TensorType::kF32, Element::kBf16));
  EXPECT_FALSE(is_stored_as(TensorType::kBf16, Element::kF32));
  EXPECT_FALSE(is_stored_as(TensorType::kQ8_0, Element::kF32));
}

}  // namespace
}  // namespace sluice::engine::cuda
