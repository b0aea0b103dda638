#include "scheduler/safe_state.h"

#include <algorithm>
#include <array>
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

void take_blocks(SequenceLoad& sequence, int32_t count) {
  sequence.table += count;
  sequence.owned += count;
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

TEST(SafeState, LetsBlocksBeTakenExactlyWhenTheStateStaysSafe) {
  std::array<int, 2> allowed{};  // one block, several
  std::array<int, 2> denied{};
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    RandomLoads random(seed);
    const std::vector<SequenceLoad> loads = random.draw_loads();
    const int32_t free = random.draw(0, 8);
    if (!has_safe_order(loads, free)) continue;
    SafeState state;
    state.assign(loads, free);
    for (size_t i = 0; i < loads.size(); ++i) {
      for (int32_t count = 1; count <= loads[i].need(); ++count) {
        std::vector<SequenceLoad> after = loads;
        take_blocks(after[i], count);
        const bool stays_safe = has_safe_order(after, free - count);
        ASSERT_EQ(state.may_take(loads[i].need(), count), stays_safe)
            << "seed " << seed << " sequence " << i << " takes " << count;
        (stays_safe ? allowed : denied)[count == 1 ? 0 : 1] += 1;
      }
    }
  }
  EXPECT_GT(*std::ranges::min_element(allowed), 500);
  EXPECT_GT(*std::ranges::min_element(denied), 100);
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
      const int32_t count = random.draw(1, taker.need());
      SequenceLoad after = taker;
      take_blocks(after, count);
      const SequenceLoad before = std::exchange(taker, after);
      const bool stays_safe = has_safe_order(loads, free - count);
      taker = before;
      ASSERT_EQ(state.may_take(before.need(), count), stays_safe) << "seed " << seed << " turn " << turn;
      if (!stays_safe) continue;
      state.take(before.need(), before.owned, count);
      taker = after;
      free -= count;
      ASSERT_TRUE(state.is_safe());
    }
  }
}

// After one block the other still finds his, and gives 5 back; after two he doesn't.
TEST(SafeState, DeniesTwoBlocksWhereItGrantsOne) {
  SafeState state;
  state.assign(std::vector{load_of(1, 5), load_of(3, 0)}, 2);
  EXPECT_TRUE(state.may_take(3, 1));
  EXPECT_FALSE(state.may_take(3, 2));
}

// Nobody who then needs less goes before him, but what is free doesn't do for what he needs himself.
TEST(SafeState, SeesThatHeWhoTakesMayLackWhatIsLeftOfHisNeed) {
  SafeState state;
  state.assign(std::vector{load_of(2, 5), load_of(3, 0)}, 2);
  EXPECT_FALSE(state.may_take(3, 2));
  state.assign(std::vector{load_of(2, 5), load_of(3, 0)}, 3);
  EXPECT_TRUE(state.may_take(3, 2));
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
                            [&](const SequenceLoad& load) {
                              return load.need() == 0 || state.may_take(load.need(), random.draw(1, load.need()));
                            }))
        << "seed " << seed;
  }
}

TEST(SafeStateDeathTest, KnowsWhoTakes) {
  SafeState state;
  state.assign(std::vector{load_of(3, 5)}, 8);
  EXPECT_DEATH(state.take(2, 5, 1), "need == need");
  EXPECT_DEATH(state.take(3, 4, 1), "taker");
  EXPECT_DEATH(state.may_take(3, 0), "count > 0");
  EXPECT_DEATH(state.may_take(3, 4), "count <= need");
}

}  // namespace
}  // namespace sluice::scheduler
