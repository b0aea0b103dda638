#include "bench/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::bench {
namespace {

double normal(uint64_t seed, uint64_t index) {
  const double u = 1 - random_unit(seed, 2 * index);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979 * random_unit(seed, 2 * index + 1));
}

TEST(Statistics, KnowNothingOfAMeanFromFewerThanTwoSamples) {
  EXPECT_EQ(mean_of({}).freedom, 0);
  EXPECT_TRUE(std::isinf(interval_of(mean_of({})).high));
  EXPECT_TRUE(std::isinf(interval_of(mean_of({5})).low));
  EXPECT_FALSE(is_surely_greater(mean_of({5}), mean_of({1, 1, 1})));
}

TEST(Statistics, GiveStudentsInterval) {
  // s = 1, n = 4: 3.182 / sqrt(4) to each side with a standard deviation of sqrt(5 / 3).
  const Interval interval = interval_of(mean_of({1, 2, 3, 4}));
  EXPECT_NEAR(interval.low, 2.5 - 3.18245 * std::sqrt(5.0 / 3) / 2, 1e-4);
  EXPECT_NEAR(interval.high, 2.5 + 3.18245 * std::sqrt(5.0 / 3) / 2, 1e-4);
}

TEST(Statistics, CoverTheTruthAsOftenAsTheySay) {
  int covered = 0;
  constexpr int kTrials = 4000;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples;
    for (uint64_t i = 0; i < 5; ++i) samples.push_back(10 + 3 * normal(trial, i));
    const Interval interval = interval_of(mean_of(samples));
    covered += interval.low <= 10 && 10 <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(covered, 0.95 * kTrials, 0.015 * kTrials);
}

TEST(Statistics, RarelyCallEqualsDifferent) {
  int claims = 0;
  constexpr int kTrials = 4000;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a;
    std::vector<double> b;
    for (uint64_t i = 0; i < 4; ++i) a.push_back(10 + normal(trial, i));
    for (uint64_t i = 4; i < 16; ++i) b.push_back(10 + 2 * normal(trial, i));
    claims += is_surely_greater(mean_of(a), mean_of(b)) ? 1 : 0;
  }
  EXPECT_LT(claims, 0.04 * kTrials);
  EXPECT_GT(claims, 0.01 * kTrials);
}

TEST(Statistics, TellApartWhatIsFarApart) {
  EXPECT_TRUE(is_surely_greater(mean_of({10, 11, 10, 11}), mean_of({5, 5.5, 5.2, 5.1})));
  EXPECT_FALSE(is_surely_greater(mean_of({5, 5.5, 5.2, 5.1}), mean_of({10, 11, 10, 11})));
}

TEST(Statistics, PairsCancelWhatDisturbsBoth) {
  const RatioEstimate ratio = paired_ratio({10, 20, 5, 40}, {5, 10.1, 2.5, 19.9});
  EXPECT_NEAR(ratio.ratio, 2, 0.01);
  EXPECT_GT(ratio.interval.low, 1.95);
  EXPECT_LT(ratio.interval.high, 2.05);
  EXPECT_EQ(ratio.pairs, 4);
}

TEST(Statistics, LeaveOutPairsWithoutAValue) {
  const RatioEstimate ratio = paired_ratio({10, 0, 10}, {5, 5, 0});
  EXPECT_EQ(ratio.pairs, 1);
  EXPECT_TRUE(std::isinf(ratio.interval.high));
  EXPECT_EQ(ratio.interval.low, 0);
}

TEST(Statistics, PercentilesAreNearestRanks) {
  EXPECT_TRUE(percentiles_of({}).empty());
  const std::vector<double> percentiles = percentiles_of({3, 1, 2, 4});
  ASSERT_EQ(percentiles.size(), 101U);
  EXPECT_EQ(percentiles[0], 1);
  EXPECT_EQ(percentiles[50], 2);
  EXPECT_EQ(percentiles[51], 3);
  EXPECT_EQ(percentiles[100], 4);
}

}  // namespace
}  // namespace sluice::bench
