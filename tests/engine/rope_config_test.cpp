#include "engine/rope_config.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

constexpr int32_t kDim = 64;

std::vector<double> plain(double base) {
  return rope_frequencies({.base = base}, kDim);
}

TEST(RopeConfig, SlowsDownByTheSameFactorFromPairToPair) {
  const std::vector<double> frequencies = plain(10000.0);
  ASSERT_EQ(frequencies.size(), 32U);
  EXPECT_DOUBLE_EQ(frequencies[0], 1.0);
  EXPECT_NEAR(frequencies[16], 0.01, 1e-15);
}

TEST(RopeConfig, LinearScalingDividesAllAlike) {
  const std::vector<double> scaled =
      rope_frequencies({.base = 10000.0, .scaling = RopeScaling::kLinear, .factor = 4.0}, kDim);
  for (size_t i = 0; i < scaled.size(); ++i) EXPECT_DOUBLE_EQ(scaled[i], plain(10000.0)[i] / 4.0);
}

TEST(RopeConfig, DivisorsDivideEachPairByItsOwn) {
  RopeConfig config{.scaling = RopeScaling::kDivisors, .divisors = {1.0F, 2.0F, 4.0F, 8.0F}};
  const std::vector<double> scaled = rope_frequencies(config, 8);
  const std::vector<double> whole = rope_frequencies({}, 8);
  for (size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(scaled[i], whole[i] / config.divisors[i]);
}

// Llama 3.1's own numbers; 8192 tokens are 8192 f / (2 pi) turns.
TEST(RopeConfig, Llama3KeepsFastPairsDividesSlowOnesAndBlendsBetween) {
  const RopeConfig config{.base = 500000.0,
                          .scaling = RopeScaling::kLlama3,
                          .factor = 8.0,
                          .original_context = 8192,
                          .low_frequency_factor = 1.0,
                          .high_frequency_factor = 4.0};
  const std::vector<double> scaled = rope_frequencies(config, 128);
  const std::vector<double> whole = rope_frequencies({.base = 500000.0}, 128);
  int kept = 0;
  int divided = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const double turns = 8192 * whole[i] / (2 * M_PI);
    if (turns > 4.0) {
      EXPECT_DOUBLE_EQ(scaled[i], whole[i]);
      ++kept;
    } else if (turns < 1.0) {
      EXPECT_DOUBLE_EQ(scaled[i], whole[i] / 8.0);
      ++divided;
    } else {
      EXPECT_LT(scaled[i], whole[i]);
      EXPECT_GT(scaled[i], whole[i] / 8.0);
    }
  }
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(divided, 29);
}

// With Qwen2.5's numbers the ramp goes from pair 23 to pair 40 of 64: 64 ln(32768 / (2 pi r)) / ln(1000000) for r = 32
// and r = 1 is 23.60 and 39.65.
TEST(RopeConfig, YarnStretchesAlongARampOverThePairs) {
  const RopeConfig config{.base = 1000000.0, .scaling = RopeScaling::kYarn, .factor = 4.0, .original_context = 32768};
  const std::vector<double> scaled = rope_frequencies(config, 128);
  const std::vector<double> whole = rope_frequencies({.base = 1000000.0}, 128);
  EXPECT_DOUBLE_EQ(scaled[23], whole[23]);
  EXPECT_NEAR(scaled[24], whole[24] * (1 - 0.75 / 17), 1e-12);
  EXPECT_NEAR(scaled[39], whole[39] * (1 - 0.75 * 16 / 17), 1e-12);
  EXPECT_DOUBLE_EQ(scaled[40], whole[40] / 4.0);
  RopeConfig exact = config;
  exact.is_ramp_whole = false;
  EXPECT_LT(rope_frequencies(exact, 128)[39], scaled[39]) << "the ramp ends at 39.65 instead of 40";
}

TEST(RopeConfig, YarnMultipliesByMoreTheMoreItStretches) {
  EXPECT_DOUBLE_EQ(yarn_magnitude(1.0), 1.0);
  EXPECT_DOUBLE_EQ(yarn_magnitude(0.5), 1.0);
  EXPECT_NEAR(yarn_magnitude(4.0), 1.1386294, 1e-6);
}

}  // namespace
}  // namespace sluice::engine
