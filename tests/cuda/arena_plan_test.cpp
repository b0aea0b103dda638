#include "engine/cuda/arena_plan.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

constexpr int64_t kUnit = ArenaPlan::kAlignment;

TEST(ArenaPlan, SharesMemoryAmongWhatIsNeededAtDifferentTimes) {
  ArenaPlan plan;
  const auto early = plan.add(4 * kUnit);
  const auto late = plan.add(3 * kUnit);
  plan.write(early);
  plan.advance();
  plan.write(late);
  plan.place();
  EXPECT_EQ(plan.bytes(), 4 * kUnit);
  EXPECT_EQ(plan.offset(early), plan.offset(late));
}

TEST(ArenaPlan, KeepsApartWhatOneOperationNeeds) {
  ArenaPlan plan;
  const auto from = plan.add(kUnit);
  const auto to = plan.add(kUnit);
  plan.write(from);
  plan.advance();
  plan.use(from);
  plan.write(to);
  plan.place();
  EXPECT_EQ(plan.bytes(), 2 * kUnit);
  EXPECT_NE(plan.offset(from), plan.offset(to));
}

TEST(ArenaPlan, MayReuseABufferBetweenItsLives) {
  ArenaPlan plan;
  const auto twice = plan.add(kUnit);
  const auto between = plan.add(kUnit);
  plan.write(twice);
  plan.advance();
  plan.write(between);
  plan.advance();
  plan.write(twice);
  plan.place();
  EXPECT_EQ(plan.bytes(), kUnit);
}

TEST(ArenaPlan, KeepsWhatNoOperationWrote) {
  ArenaPlan plan;
  plan.add(kUnit);
  const auto written = plan.add(kUnit);
  plan.write(written);
  plan.place();
  EXPECT_EQ(plan.bytes(), 2 * kUnit);
}

TEST(ArenaPlan, GrowsABufferToItsLargestUse) {
  ArenaPlan plan;
  const auto buffer = plan.add(0);
  plan.grow(buffer, kUnit + 1);
  plan.grow(buffer, 10);
  plan.write(buffer);
  plan.place();
  EXPECT_EQ(plan.bytes(), 2 * kUnit);
}

TEST(ArenaPlan, StopsAtReadingWhatWasNeverWritten) {
  ArenaPlan plan;
  const auto buffer = plan.add(kUnit);
  EXPECT_DEATH(plan.use(buffer), "lives");
}

struct RandomLife {
  ArenaPlan::Buffer buffer;
  int64_t bytes = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

std::vector<RandomLife> plan_randomly(ArenaPlan& plan, std::mt19937& random, int64_t operations) {
  std::vector<RandomLife> lives(20);
  for (RandomLife& life : lives) {
    life.bytes = kUnit * std::uniform_int_distribution<int64_t>(1, 50)(random);
    life.begin = std::uniform_int_distribution<int64_t>(0, operations - 1)(random);
    life.end = std::min(operations - 1, life.begin + std::uniform_int_distribution<int64_t>(0, 4)(random));
    life.buffer = plan.add(life.bytes);
  }
  for (int64_t now = 0; now < operations; ++now, plan.advance()) {
    for (const RandomLife& life : lives) {
      if (life.begin == now) plan.write(life.buffer);
      if (life.begin < now && now <= life.end) plan.use(life.buffer);
    }
  }
  plan.place();
  return lives;
}

/// What the operation needs together.
int64_t needed_at(const std::vector<RandomLife>& lives, int64_t now) {
  int64_t bytes = 0;
  for (const RandomLife& life : lives) {
    if (life.begin <= now && now <= life.end) bytes += life.bytes;
  }
  return bytes;
}

TEST(ArenaPlan, NeverOverlapsWhatLivesTogether) {
  constexpr int64_t kOperations = 15;
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    ArenaPlan plan;
    const std::vector<RandomLife> lives = plan_randomly(plan, random, kOperations);
    int64_t most = 0;
    for (int64_t now = 0; now < kOperations; ++now) most = std::max(most, needed_at(lives, now));
    EXPECT_GE(plan.bytes(), most);
    EXPECT_LE(plan.bytes(), 2 * most);
    for (const RandomLife& a : lives) {
      EXPECT_LE(plan.offset(a.buffer) + a.bytes, plan.bytes());
      for (const RandomLife& b : lives) {
        if (&a == &b || a.begin > b.end || b.begin > a.end) continue;
        const bool is_apart = plan.offset(a.buffer) + a.bytes <= plan.offset(b.buffer) ||
                              plan.offset(b.buffer) + b.bytes <= plan.offset(a.buffer);
        ASSERT_TRUE(is_apart) << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
