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

std::vector<float> weights_of(const std::vector<float>& logits, float temperature = 1.0F) {
  const LogitWeight weight_of(max_logit(logits), temperature);
  std::vector<float> weights;
  for (const float logit : logits) weights.push_back(weight_of(logit));
  return weights;
}

/// The tokens that keep their weight.
std::vector<size_t> kept(const std::vector<float>& logits, float top_p, float temperature = 1.0F) {
  std::vector<float> weights = weights_of(logits, temperature);
  std::vector<TokenLogprob> scratch = {{1, 2.0F}};
  drop_beyond_top_p(logits, top_p, scratch, weights);
  std::vector<size_t> tokens;
  for (size_t token = 0; token < weights.size(); ++token) {
    if (weights[token] > 0.0F) tokens.push_back(token);
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

TEST(TopP, OneKeepsAll) {
  EXPECT_THAT(kept({0.0F, -80.0F, -40.0F}, 1.0F), ElementsAre(0, 1, 2));
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
