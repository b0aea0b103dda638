#include "engine/cuda/kernels/split_plan.cuh"

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

constexpr SplitLimits kSmall{.keys_min = 16, .splits_max = 5};

TEST(SplitPlan, HasAPartForEveryShorterContext) {
  for (const int32_t window : {0, 1, 17, 100, 5000}) {
    for (int32_t longest = 1; longest <= 900; ++longest) {
      const int32_t splits = plan_splits(longest, window, kSmall);
      EXPECT_LE(splits, kSmall.splits_max);
      ASSERT_LE(split_count(visible_keys(longest - 1, window), kSmall), splits) << longest;
      // Longer contexts may come out with fewer parts, as these are whole tiles.
      ASSERT_GE(splits, longest == 1 ? 1 : plan_splits(longest - 1, window, kSmall));
    }
  }
}

TEST(SplitPlan, CoversEachKeyOnce) {
  for (const KeyRange seen : {KeyRange{0, 1}, {0, 16}, {3, 20}, {0, 80}, {0, 81}, {7, 1000}, {0, 4096}}) {
    const int32_t count = split_count(seen, kSmall);
    int32_t next = seen.begin;
    for (int32_t split = 0; split < count; ++split) {
      const KeyRange part = split_part(seen, split, kSmall);
      EXPECT_EQ(part.begin, next);
      EXPECT_GT(part.end, part.begin);
      next = part.end;
    }
    EXPECT_EQ(next, seen.end);
    for (int32_t split = count; split < kSmall.splits_max; ++split) {
      const KeyRange part = split_part(seen, split, kSmall);
      EXPECT_GE(part.begin, part.end);
    }
  }
}

TEST(SplitPlan, LeavesShortContextsWhole) {
  EXPECT_EQ(plan_splits(1, 0, {}), 1);
  EXPECT_EQ(plan_splits(256, 0, {}), 1);
  EXPECT_EQ(plan_splits(257, 0, {}), 2);
  EXPECT_EQ(plan_splits(100000, 0, {}), 32);
  EXPECT_EQ(plan_splits(100000, 256, {}), 1);
}

}  // namespace
}  // namespace sluice::engine::cuda
