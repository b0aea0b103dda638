#include "engine/cpu/expert_routing.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine::cpu {
namespace {

using ::testing::ElementsAre;

void choose(ExpertRouting& routing, int32_t token, std::vector<float> scores, bool sums_to_one = true) {
  routing.choose(token, scores, sums_to_one);
}

TEST(ExpertRouting, TakesTheBestScoresInTheirOrder) {
  ExpertRouting routing;
  routing.begin(1, 4, 2);
  choose(routing, 0, {0.0F, 2.0F, 1.0F, 3.0F});
  EXPECT_EQ(routing.choices(0)[0].expert, 3);
  EXPECT_EQ(routing.choices(0)[1].expert, 1);
  const double second = std::exp(-1.0) / (1 + std::exp(-1.0));
  EXPECT_NEAR(routing.choices(0)[1].weight, second, 1e-6);
  EXPECT_NEAR(routing.choices(0)[0].weight, 1 - second, 1e-6);
}

TEST(ExpertRouting, WeighsByAllExpertsWhereTheModelDoes) {
  ExpertRouting routing;
  routing.begin(1, 2, 1);
  choose(routing, 0, {1.0F, 1.0F}, false);
  EXPECT_FLOAT_EQ(routing.choices(0)[0].weight, 0.5F);
  choose(routing, 0, {1.0F, 1.0F}, true);
  EXPECT_FLOAT_EQ(routing.choices(0)[0].weight, 1.0F);
}

TEST(ExpertRouting, OfEqualScoresTakesTheFirst) {
  ExpertRouting routing;
  routing.begin(1, 3, 2);
  choose(routing, 0, {5.0F, 5.0F, 5.0F});
  EXPECT_EQ(routing.choices(0)[0].expert, 0);
  EXPECT_EQ(routing.choices(0)[1].expert, 1);
}

TEST(ExpertRouting, GathersEachExpertsTokensInOrder) {
  ExpertRouting routing;
  routing.begin(3, 4, 2);
  choose(routing, 0, {9, 0, 1, 0});
  choose(routing, 1, {0, 0, 9, 1});
  choose(routing, 2, {1, 0, 9, 0});
  routing.finish();
  ASSERT_EQ(routing.taken().size(), 3U) << "nobody takes expert 1";
  EXPECT_EQ(routing.taken()[0].expert, 0);
  EXPECT_THAT(routing.taken()[0].tokens, ElementsAre(0, 2));
  EXPECT_EQ(routing.taken()[1].expert, 2);
  EXPECT_THAT(routing.taken()[1].tokens, ElementsAre(0, 1, 2));
  EXPECT_EQ(routing.taken()[2].expert, 3);
  EXPECT_EQ(routing.taken()[2].first_row, 5);
  EXPECT_EQ(routing.row_of(0, 1), 2) << "its second choice is expert 2, whose rows begin behind expert 0's two";
  EXPECT_EQ(routing.row_of(2, 0), 4);
}

}  // namespace
}  // namespace sluice::engine::cpu
