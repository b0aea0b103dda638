#include "engine/top_p.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/softmax.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;

std::vector<float> weights_of(const std::vector<float>& logits, float temperature) {
  std::vector<float> weights(logits.size());
  weigh_all(logits, {largest_of(logits), temperature}, portable_logit_kernels(), weights);
  return weights;
}

/// The tokens that keep their weight.
std::vector<size_t> kept(const std::vector<float>& logits, float top_p, float temperature = 1.0F) {
  const LogitScale scale{largest_of(logits), temperature};
  std::vector<float> tops(logit_block_count(logits.size()));
  fill_block_tops(logits, tops);
  LogitCandidates candidates;
  std::vector<TokenLogprob> scratch = {{1, 2.0F}};
  std::vector<double> chunk_sums;
  const double sum = sum_weights(logits, scale, portable_logit_kernels(), chunk_sums);
  collect_nucleus({logits, tops}, scale, sum, top_p, portable_logit_kernels(), candidates, scratch);
  std::vector<size_t> tokens;
  for (size_t i = 0; i < candidates.count(); ++i) {
    if (candidates.weights()[i] > 0.0F) tokens.push_back(static_cast<size_t>(candidates.tokens()[i]));
  }
  return tokens;
}

/// By the book: sort everything, add up until the share is reached.
std::vector<size_t> kept_by_sorting(const std::vector<float>& logits, float top_p, float temperature) {
  const std::vector<float> weights = weights_of(logits, temperature);
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  const double mass = static_cast<double>(top_p) * std::accumulate(weights.begin(), weights.end(), 0.0);
  double passed = 0;
  size_t count = 0;
  while (count < order.size() && passed < mass) passed += static_cast<double>(weights[order[count++]]);
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

TEST(TopP, NeverDropsTheLikeliest) {
  EXPECT_THAT(kept({0.0F, 3.0F, 1.0F}, std::numeric_limits<float>::denorm_min()), ElementsAre(1));
  EXPECT_THAT(kept({0.0F}, 0.5F), ElementsAre(0));
}

TEST(TopP, StopsAsSoonAsTheShareIsReached) {
  const std::vector<float> even(4, 1.0F);
  EXPECT_THAT(kept(even, 0.5F), ElementsAre(0, 1));
  EXPECT_THAT(kept(even, 0.51F), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept(even, 0.76F), ElementsAre(0, 1, 2, 3));
}

TEST(TopP, DropsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(kept({nan, 1.0F, nan, 1.0F}, 0.99F), ElementsAre(1, 3));
}

TEST(TopP, EqualsSortingForAllShapes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<float> logits(1 + random_bits(seed, 0) % 3000);
    const uint64_t steps = 2 + random_bits(seed, 1) % 5000;  // few steps: many equal logits
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>(random_bits(seed, 10 + i) % steps) / static_cast<float>(steps) * 20.0F;
    }
    const auto top_p = static_cast<float>(1e-3 + 0.9989 * random_unit(seed, 2));
    const auto temperature = static_cast<float>(0.1 + 5 * random_unit(seed, 3));
    ASSERT_EQ(kept(logits, top_p, temperature), kept_by_sorting(logits, top_p, temperature)) << "seed " << seed;
  }
}

TEST(TopP, FindsItsWayThroughLogitsOfAllSizes) {
  constexpr float kMax = std::numeric_limits<float>::max();
  std::vector<float> far_apart(100, -kMax);
  far_apart[50] = far_apart[70] = kMax;
  EXPECT_THAT(kept(far_apart, 0.5F), ElementsAre(50));
  EXPECT_THAT(kept(far_apart, 0.75F), ElementsAre(50, 70));
  EXPECT_EQ(kept(far_apart, 0.5F, kMax), kept_by_sorting(far_apart, 0.5F, kMax));
  for (const float unit : {1e-30F, 1e-3F, 1e3F, 1e30F}) {
    std::vector<float> logits(500);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = unit * (static_cast<float>(random_unit(3, i)) - 0.5F);
    for (const float temperature : {0.1F, 1.0F, 10.0F, 1e30F}) {
      for (const float top_p : {0.2F, 0.7F, 0.99F})
        ASSERT_EQ(kept(logits, top_p, temperature), kept_by_sorting(logits, top_p, temperature)) << unit;
    }
  }
}

TEST(TopP, CutsThroughManyEqualTokens) {
  const std::vector<float> even(3000, 1.0F);
  EXPECT_EQ(kept(even, 0.5F).size(), 1500U);
  EXPECT_EQ(kept(even, 0.5F).back(), 1499U);
}

TEST(TopP, SortedWeightsAreCutAtTheSamePlace) {
  std::vector<float> weights = {1.0F, 0.5F, 0.25F, 0.25F};
  drop_beyond_top_p_sorted(0.75F, weights);
  EXPECT_THAT(weights, ElementsAre(1.0F, 0.5F, 0.0F, 0.0F));
  weights = {1.0F, 0.5F, 0.25F, 0.25F};
  drop_beyond_top_p_sorted(0.76F, weights);
  EXPECT_THAT(weights, ElementsAre(1.0F, 0.5F, 0.25F, 0.0F));
  drop_beyond_top_p_sorted(1e-9F, weights);
  EXPECT_THAT(weights, ElementsAre(1.0F, 0.0F, 0.0F, 0.0F));
}

}  // namespace
}  // namespace sluice::engine
