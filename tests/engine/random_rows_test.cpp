#include "engine/random_rows.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/quant_scheme.h"

namespace sluice::engine {
namespace {

constexpr int64_t kLength = 512;
constexpr int64_t kRows = 256;

std::vector<TensorType> all_types() {
  std::vector<TensorType> types = {TensorType::kF32, TensorType::kF16, TensorType::kBf16};
  types.insert(types.end(), std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  return types;
}

std::vector<std::byte> made(const RowMaker& maker, TensorType type, int64_t first, int64_t count) {
  std::vector<std::byte> rows(static_cast<size_t>(tensor_bytes(type, kLength * count)));
  maker.make_rows(first, rows);
  return rows;
}

std::vector<float> numbers(TensorType type, const std::vector<std::byte>& rows, int64_t count) {
  std::vector<float> values(static_cast<size_t>(kLength * count));
  dequantize(type, rows, values);
  return values;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const std::vector<float>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  return {.mean = sum / count, .deviation = std::sqrt(squares / count - sum / count * sum / count)};
}

class RandomRowsOfType : public ::testing::TestWithParam<TensorType> {};

TEST_P(RandomRowsOfType, AreTheSameWhateverIsMadeWithThem) {
  const TensorType type = GetParam();
  const RandomRows maker(type, kLength, {.deviation = 0.02F}, 7);
  const std::vector<std::byte> together = made(maker, type, 3, 4);
  const auto row_bytes = static_cast<int64_t>(together.size()) / 4;
  for (int64_t row = 3; row >= 0; --row) {
    const std::vector<std::byte> alone = made(RandomRows(type, kLength, {.deviation = 0.02F}, 7), type, 3 + row, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * row_bytes)) << row;
  }
}

TEST_P(RandomRowsOfType, DifferFromEachOtherAndBySeed) {
  const TensorType type = GetParam();
  const RandomRows maker(type, kLength, {.deviation = 0.02F}, 7);
  EXPECT_NE(made(maker, type, 0, 1), made(maker, type, 1, 1));
  EXPECT_NE(made(maker, type, 0, 1), made(RandomRows(type, kLength, {.deviation = 0.02F}, 8), type, 0, 1));
}

TEST_P(RandomRowsOfType, HaveTheDeviationAskedForAndNoMean) {
  const TensorType type = GetParam();
  for (const float deviation : {0.02F, 1.0F / 64}) {
    const RandomRows maker(type, kLength, {.deviation = deviation}, 7);
    const Moments found = moments_of(numbers(type, made(maker, type, 0, kRows), kRows));
    // 131072 weights; those of a block of up to 256 share a scale's sign.
    EXPECT_NEAR(found.mean, 0, 0.05 * deviation);
    const double tolerance = type == TensorType::kMxfp4 ? 0.42 : 0.03;  // whose scales are powers of two
    EXPECT_NEAR(found.deviation / deviation, 1, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RandomRowsOfType, ::testing::ValuesIn(all_types()),
                         [](const auto& param) { return tensor_type_name(param.param); });

TEST(RandomRows, OfFloatsAreNormallyDistributed) {
  const RandomRows maker(TensorType::kF32, kLength, {.mean = 5, .deviation = 2}, 1);
  const std::vector<float> values = numbers(TensorType::kF32, made(maker, TensorType::kF32, 0, kRows), kRows);
  const auto share_below = [&](float limit) {
    return static_cast<double>(std::ranges::count_if(values, [&](float value) { return value < limit; })) /
           static_cast<double>(values.size());
  };
  EXPECT_NEAR(share_below(1), 0.0228, 0.003);
  EXPECT_NEAR(share_below(3), 0.1587, 0.006);
  EXPECT_NEAR(share_below(5), 0.5, 0.008);
  EXPECT_NEAR(share_below(7), 0.8413, 0.006);
  EXPECT_NEAR(share_below(9), 0.9772, 0.003);
  EXPECT_LT(*std::ranges::max_element(values), 5 + 2 * 3.7F);
}

TEST(RandomRows, WithoutADeviationAreTheMean) {
  const RandomRows maker(TensorType::kF32, kLength, {.mean = 1, .deviation = 0}, 1);
  for (const float value : numbers(TensorType::kF32, made(maker, TensorType::kF32, 0, 1), 1)) EXPECT_EQ(value, 1);
}

TEST(RandomRows, MayHaveAnyNumberOfFloats) {
  for (int64_t length = 1; length <= 9; ++length) {
    const RandomRows maker(TensorType::kBf16, length, {.deviation = 1}, 1);
    std::vector<std::byte> rows(static_cast<size_t>(length * 4));
    maker.make_rows(0, rows);
    EXPECT_FALSE(std::equal(rows.begin(), rows.begin() + length * 2, rows.begin() + length * 2)) << length;
  }
}

/// Numbers its rows.
class CountingRows final : public RowMaker {
 public:
  void make_rows(int64_t first, std::span<std::byte> rows) const override {
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(first + static_cast<int64_t>(i / 8));
  }
};

TEST(StoredTensor, ReadsMadeRowsAtTheirPlaceInAnyPartOfIt) {
  const CountingRows maker;
  const StoredTensor tensor{.name = "t", .shape = {2, 3, 4}, .data = {}, .maker = &maker, .first_made_row = 10};
  EXPECT_EQ(tensor.bytes(), 96);
  std::vector<std::byte> room;
  const auto last = tensor.read_rows(10, 2, room);
  EXPECT_EQ(last.size(), 16U);
  EXPECT_EQ(last.front(), std::byte{20});
  EXPECT_EQ(last.back(), std::byte{21});
  const StoredTensor part = tensor.rows(6, 3).rows(1, 2);
  EXPECT_EQ(part.row_count(), 2);
  const auto second = part.read_rows(1, 1, room);
  EXPECT_EQ(second.size(), 8U);
  EXPECT_EQ(second.front(), std::byte{18});
}

}  // namespace
}  // namespace sluice::engine
