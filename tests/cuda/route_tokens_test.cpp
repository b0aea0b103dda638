#include "engine/cuda/kernels/route_tokens.cuh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

struct Routes {
  std::vector<int32_t> chosen;
  std::vector<float> weights;
};

Routes route(const std::vector<float>& scores, int32_t experts, int32_t per_token, bool sums_to_one,
             const std::vector<int32_t>& slots = {}) {
  const auto tokens = static_cast<int32_t>(scores.size()) / experts;
  Routes routes;
  routes.weights = run_in_all_orders([&](void* stream) {
    GuardedBuffer<int32_t> chosen(tokens * per_token);
    GuardedBuffer<float> weights(tokens * per_token);
    EXPECT_EQ(launch_route_tokens({.scores = scores.data(),
                                   .slots = slots.empty() ? nullptr : slots.data(),
                                   .chosen = chosen.data(),
                                   .weights = weights.data(),
                                   .tokens = tokens,
                                   .experts = experts,
                                   .per_token = per_token,
                                   .sums_to_one = sums_to_one},
                                  stream),
              0);
    const std::vector<float> result = weights.take();
    routes.chosen = chosen.take();
    return result;
  });
  return routes;
}

/// Experts by descending score, of equal ones the first.
std::vector<int32_t> ranked(const float* scores, int32_t experts) {
  std::vector<int32_t> order(static_cast<size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
  return order;
}

void expect_routes(const std::vector<float>& scores, int32_t experts, int32_t per_token, bool sums_to_one) {
  SCOPED_TRACE(testing::Message() << experts << " experts, " << per_token << " a token, sums to one: " << sums_to_one);
  const Routes routes = route(scores, experts, per_token, sums_to_one);
  const auto tokens = static_cast<int64_t>(scores.size()) / experts;
  for (int64_t token = 0; token < tokens; ++token) {
    const float* own = &scores[static_cast<size_t>(token * experts)];
    const std::vector<int32_t> order = ranked(own, experts);
    double mass = 0;
    for (int32_t rank = 0; rank < (sums_to_one ? per_token : experts); ++rank)
      mass += std::exp(double{own[order[static_cast<size_t>(rank)]]} - double{own[order[0]]});
    for (int32_t rank = 0; rank < per_token; ++rank) {
      const int32_t expert = order[static_cast<size_t>(rank)];
      const auto at = static_cast<size_t>(token * per_token + rank);
      ASSERT_EQ(routes.chosen[at], expert) << "token " << token << ", rank " << rank;
      const double weight = std::exp(double{own[expert]} - double{own[order[0]]}) / mass;
      ASSERT_NEAR(double{routes.weights[at]}, weight, weight * 4e-6) << "token " << token << ", rank " << rank;
    }
  }
}

TEST(RouteTokensKernel, TakesTheHighestScoresAndWeighsThemBySoftmax) {
  Random random(3);
  for (const int32_t experts : {1, 2, 8, 31, 33, 128, kRoutedExpertsMax}) {
    for (const int32_t per_token : {1, 2, 5, 8, kRoutedPerTokenMax}) {
      if (per_token > experts) continue;
      const int32_t tokens = experts == 8 ? 9 : 5;
      const auto scores = random.numbers<float>(int64_t{tokens} * experts, -6, 6);
      for (const bool sums_to_one : {true, false}) expect_routes(scores, experts, per_token, sums_to_one);
    }
  }
}

TEST(RouteTokensKernel, TakesTheFirstOfEqualScores) {
  Random random(4);
  std::vector<float> scores(3 * 70);
  for (float& score : scores) score = static_cast<float>(random.integer(-1, 1)) * 0.0F;  // zeros of both signs
  for (size_t i = 70; i < scores.size(); ++i) scores[i] = static_cast<float>(random.integer(-2, 2));
  for (const int32_t per_token : {1, 4, 32}) expect_routes(scores, 70, per_token, true);
}

TEST(RouteTokensKernel, TakesScoresFarApartAndInfinitelyLowOnes) {
  const float low = -std::numeric_limits<float>::infinity();
  expect_routes({3e38F, -3e38F, 100, -100, low, 5, low, low, -7, -8, low, -9}, 4, 3, true);
  expect_routes({3e38F, -3e38F, 100, -100, low, 5, low, low, -7, -8, low, -9}, 4, 3, false);
}

TEST(RouteTokensKernel, TakesDifferentExpertsWhateverTheScoresAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Routes routes = route({nan, nan, nan, nan, nan, 2, nan, 1, 4, 3, 2, 1}, 4, 3, true);
  EXPECT_EQ(routes.chosen, (std::vector<int32_t>{0, 1, 2, 1, 3, 0, 0, 1, 2}));
  EXPECT_TRUE(std::isnan(routes.weights[0]));
  EXPECT_FALSE(std::isnan(routes.weights[8])) << "of another token";
}

TEST(RouteTokensKernel, LetsTokensOfNobodyTakeWhatTheFirstDoes) {
  const std::vector<float> scores = {1, 2, 0, 5, 0, 1, 0, 0, 9, 4, 0, 1};
  const Routes routes = route(scores, 3, 2, true, {8, 0, -1, 3});
  EXPECT_EQ(routes.chosen, (std::vector<int32_t>{1, 0, 0, 2, 1, 0, 0, 2}));
  EXPECT_EQ(routes.weights[4], routes.weights[0]);
  EXPECT_EQ(routes.weights[5], routes.weights[1]);
}

}  // namespace
}  // namespace sluice::engine::cuda
