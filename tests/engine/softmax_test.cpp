#include "engine/softmax.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kLargestUnit = 1.0 - 0x1.0p-53;

TEST(ExpNonpositive, GivesZeroWhereThereIsNoNormalResult) {
  EXPECT_EQ(exp_nonpositive(kNan), 0.0F);
  EXPECT_EQ(exp_nonpositive(-kInfinity), 0.0F);
  EXPECT_EQ(exp_nonpositive(-1e30F), 0.0F);
  EXPECT_EQ(exp_nonpositive(std::nextafter(-87.0F, -88.0F)), 0.0F);
  EXPECT_GT(exp_nonpositive(-87.0F), 0.0F);
}

TEST(ExpNonpositive, IsExactlyOneAtZero) {
  EXPECT_EQ(exp_nonpositive(0.0F), 1.0F);
  EXPECT_EQ(exp_nonpositive(-0.0F), 1.0F);
  EXPECT_EQ(exp_nonpositive(-1e-30F), 1.0F);
}

TEST(ExpNonpositive, IsWithinThreeTenMillionths) {
  double worst = 0;
  for (int i = 0; i <= 870000; ++i) {
    const float x = static_cast<float>(i) * -1e-4F;
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(exp_nonpositive(x)) / exact - 1));
  }
  EXPECT_LT(worst, 3e-7);
}

TEST(DrawIndex, NeverTakesAWeightOfZero) {
  const std::vector<float> weights = {0.0F, 1.0F, 0.0F, 1.0F, 0.0F};
  EXPECT_EQ(draw_index(weights, 0.0), 1U);
  EXPECT_EQ(draw_index(weights, std::nextafter(0.5, 0.0)), 1U);
  EXPECT_EQ(draw_index(weights, 0.5), 3U);
  EXPECT_EQ(draw_index(weights, kLargestUnit), 3U);
}

TEST(DrawIndex, TheLargestNumberTakesTheLastWeight) {
  for (const size_t size : {1U, 7U, 255U, 256U, 257U, 512U, 1000U, 49152U}) {
    std::vector<float> weights(size);
    for (size_t i = 0; i < size; ++i) weights[i] = static_cast<float>(random_unit(1, i)) + 0.1F;
    EXPECT_EQ(draw_index(weights, kLargestUnit), size - 1) << size;
    EXPECT_EQ(draw_index(weights, 0.0), 0U) << size;
  }
}

TEST(DrawIndex, SkipsWholeChunksOfZeroes) {
  std::vector<float> weights(2000, 0.0F);
  weights[700] = 1.0F;
  EXPECT_EQ(draw_index(weights, 0.0), 700U);
  EXPECT_EQ(draw_index(weights, kLargestUnit), 700U);
}

TEST(DrawIndex, GivesEachIndexItsShare) {
  const std::vector<float> weights(1000, 0.25F);
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(draw_index(weights, (static_cast<double>(i) + 0.5) / 1000), i);
  }
}

TEST(SumWeights, LeavesWhatADrawNeeds) {
  for (const size_t size : {1U, 255U, 256U, 257U, 1000U, 5000U}) {
    std::vector<float> logits(size);
    for (size_t i = 0; i < size; ++i) logits[i] = -3.0F * static_cast<float>(random_unit(2, i));
    logits[size / 2] = 0.0F;
    const LogitScale scale{.max = 0.0F, .temperature = 0.7F};
    const LogitKernels& kernels = portable_logit_kernels();
    std::vector<float> weights(size);
    std::vector<double> chunk_sums = {5.0, 5.0};
    const double sum = sum_weights(logits, scale, kernels, chunk_sums);
    EXPECT_EQ(weigh_all(logits, scale, kernels, weights), sum);
    EXPECT_EQ(chunk_sums.size(), (size + kLogitChunk - 1) / kLogitChunk);
    for (uint64_t i = 0; i < 200; ++i) {
      const double unit = random_unit(size, i);
      ASSERT_EQ(draw_index(logits, scale, kernels, chunk_sums, unit), draw_index(weights, unit)) << size << " " << i;
    }
  }
}

}  // namespace
}  // namespace sluice::engine
