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

TEST(MaxLogit, PassesOverNan) {
  EXPECT_EQ(max_logit(std::vector<float>{kNan, -3.0F, kNan, -2.0F}), -2.0F);
  EXPECT_EQ(max_logit(std::vector<float>{kNan}), -kInfinity);
}

TEST(MaxLogit, FindsTheLargestAtEveryPlace) {
  for (size_t size = 1; size < 70; ++size) {
    for (size_t place = 0; place < size; ++place) {
      std::vector<float> logits(size, -5.0F);
      logits[place] = -4.0F;
      ASSERT_EQ(max_logit(logits), -4.0F) << place << " of " << size;
    }
  }
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

}  // namespace
}  // namespace sluice::engine
