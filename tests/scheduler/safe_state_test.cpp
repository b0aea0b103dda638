#include "scheduler/safe_state.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

SequenceLoad load_of(int32_t need, int32_t owned) {
  return {.table = owned, .owned = owned, .final_blocks = owned + need};
}

/// By trying every order.
bool has_safe_order(const std::vector<SequenceLoad>& sequences, int32_t free) {
  if (free < 0) return false;
  std::vector<size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), 0U);
  do {
    int32_t available = free;
    const bool finishes = std::all_of(order.begin(), order.end(), [&](size_t i) {
      if (sequences[i].need() > available) return false;
      available += sequences[i].owned;
      return true;
    });
    if (finishes) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

void take_block(SequenceLoad& sequence) {
  ++sequence.table;
  ++sequence.owned;
}

class RandomLoads {
 public:
  explicit RandomLoads(uint64_t seed) : random_(seed) {}
  int32_t draw(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }
  std::vector<SequenceLoad> draw_loads() {
    std::vector<SequenceLoad> loads;
    for (int32_t count = draw(0, 5); count > 0; --count) loads.push_back(load_of(draw(0, 6), draw(0, 5)));
    return loads;
  }

 private:
  std::mt19937_64 random_;
};

TEST(SafeState, IsUnsafeWhenNobodyCanTakeAllHeNeeds) {
  SafeState state;
  state.assign(std::vector{load_of(3, 5), load_of(4, 5)}, 2);
  EXPECT_FALSE(state.is_safe());
  state.assign(std::vector{load_of(3, 5), load_of(4, 5)}, 3);
  EXPECT_TRUE(state.is_safe());
}

TEST(SafeState, CountsWhatThoseWhoEndGiveBack) {
  SafeState state;
  state.assign(std::vector{load_of(6, 1), load_of(1, 3), load_of(4, 2)}, 1);
  EXPECT_TRUE(state.is_safe()) << "1 for 1, then 1 + 3 for 4, then 1 + 3 + 2 for 6";
  state.assign(std::vector{load_of(7, 1), load_of(1, 3), load_of(4, 2)}, 1);
  EXPECT_FALSE(state.is_safe());
}

TEST(SafeState, OfNobodyIsSafe) {
  SafeState state;
  state.assign({}, 0);
  EXPECT_TRUE(state.is_safe());
}

TEST(SafeState, SaysWhatTryingEveryOrderSays) {
  int safe = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    RandomLoads random(seed);
    const std::vector<SequenceLoad> loads = random.draw_loads();
    const int32_t free = random.draw(0, 8);
    SafeState state;
    state.assign(loads, free);
    ASSERT_EQ(state.is_safe(), has_safe_order(loads, free)) << "seed " << seed;
    safe += state.is_safe() ? 1 : 0;
  }
  EXPECT_GT(safe, 1000);
  EXPECT_LT(safe, 4000);
}

TEST(SafeState, LetsABlockBeTakenExactlyWhenTheStateStaysSafe) {
  int allowed = 0;
  int denied = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    RandomLoads random(seed);
    const std::vector<SequenceLoad> loads = random.draw_loads();
    const int32_t free = random.draw(0, 8);
    if (!has_safe_order(loads, free)) continue;
    SafeState state;
    state.assign(loads, free);
    for (size_t i = 0; i < loads.size(); ++i) {
      if (loads[i].need() == 0) continue;
      std::vector<SequenceLoad> after = loads;
      take_block(after[i]);
      const bool stays_safe = has_safe_order(after, free - 1);
      ASSERT_EQ(state.may_take(loads[i].need()), stays_safe) << "seed " << seed << " sequence " << i;
      (stays_safe ? allowed : denied) += 1;
    }
  }
  EXPECT_GT(allowed, 500);
  EXPECT_GT(denied, 100);
}

TEST(SafeState, FollowsTheBlocksThatAreTaken) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomLoads random(seed);
    std::vector<SequenceLoad> loads = random.draw_loads();
    int32_t free = random.draw(0, 10);
    if (loads.empty() || !has_safe_order(loads, free)) continue;
    SafeState state;
    state.assign(loads, free);
    for (int turn = 0; turn < 10; ++turn) {
      SequenceLoad& taker = loads[static_cast<size_t>(random.draw(0, static_cast<int32_t>(loads.size()) - 1))];
      if (taker.need() == 0) continue;
      SequenceLoad after = taker;
      take_block(after);
      const SequenceLoad before = std::exchange(taker, after);
      const bool stays_safe = has_safe_order(loads, free - 1);
      taker = before;
      ASSERT_EQ(state.may_take(before.need()), stays_safe) << "seed " << seed << " turn " << turn;
      if (!stays_safe) continue;
      state.take(before.need(), before.owned);
      taker = after;
      --free;
      ASSERT_TRUE(state.is_safe());
    }
  }
}

TEST(SafeState, AlwaysLetsSomebodyGoOn) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    RandomLoads random(seed);
    const std::vector<SequenceLoad> loads = random.draw_loads();
    const int32_t free = random.draw(0, 8);
    SafeState state;
    state.assign(loads, free);
    if (loads.empty() || !state.is_safe()) continue;
    EXPECT_TRUE(std::any_of(loads.begin(), loads.end(),
                            [&](const SequenceLoad& load) { return load.need() == 0 || state.may_take(load.need()); }))
        << "seed " << seed;
  }
}

TEST(SafeStateDeathTest, KnowsWhoTakes) {
  SafeState state;
  state.assign(std::vector{load_of(3, 5)}, 8);
  EXPECT_DEATH(state.take(2, 5), "need == need");
  EXPECT_DEATH(state.take(3, 4), "taker");
  EXPECT_DEATH(state.may_take(0), "need > 0");
}

}  // namespace
}  // namespace sluice::scheduler
