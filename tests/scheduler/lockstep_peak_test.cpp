#include "scheduler/lockstep_peak.h"

#include <algorithm>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

using kvcache::BlockGrowth;

/// With rings of 2 blocks.
constexpr BlockGrowth kWindowed{.block_size = 16, .full_groups = 1, .window_groups = 2, .ring_blocks = 2};

SequenceLoad load_of(int32_t tokens, int32_t left, const BlockGrowth& growth, int32_t shared = 0) {
  const auto table = static_cast<int32_t>(growth.blocks_for(tokens));
  return {.table = table,
          .owned = table - shared,
          .final_blocks = static_cast<int32_t>(growth.blocks_for(tokens + left)),
          .tokens = tokens,
          .left = left};
}

/// By letting all of them run, a token a step.
int64_t peak_by_running(const std::vector<SequenceLoad>& sequences, const BlockGrowth& growth) {
  int64_t peak = 0;
  int32_t longest = 0;
  for (const SequenceLoad& sequence : sequences) longest = std::max(longest, sequence.left);
  for (int32_t step = 0; step <= longest; ++step) {
    int64_t alive = 0;
    for (const SequenceLoad& sequence : sequences) {
      if (sequence.left >= step) alive += growth.blocks_for(sequence.tokens + step) - sequence.shared();
    }
    peak = std::max(peak, alive);
  }
  return peak;
}

TEST(LockstepPeak, OfNobodyIsNothing) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of({}, {16}), 0);
  EXPECT_EQ(peak.of({}, kWindowed), 0);
}

TEST(LockstepPeak, OfOneIsHisCap) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of(std::vector{load_of(16, 16, {16})}, {16}), 2);
  EXPECT_EQ(peak.of(std::vector{load_of(16, 17, {16})}, {16}), 3);
  EXPECT_EQ(peak.of(std::vector{load_of(1, 0, {16})}, {16}), 1);
}

TEST(LockstepPeak, OfOneWithFullRingsGrowsByFullGroupsAlone) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of(std::vector{load_of(16, 16, kWindowed)}, kWindowed), 6);
  EXPECT_EQ(peak.of(std::vector{load_of(16, 17, kWindowed)}, kWindowed), 7);
  EXPECT_EQ(peak.of(std::vector{load_of(160, 16, kWindowed)}, kWindowed), 15);
}

TEST(LockstepPeak, LeavesOutWhatIsShared) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of(std::vector{load_of(48, 16, {16}, 2), load_of(48, 16, {16}, 2)}, {16}), 4);
}

void expect_what_running_says(BlockGrowth growth, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  if (growth.window_groups > 0) growth.ring_blocks = draw(1, 5);
  std::vector<SequenceLoad> sequences;
  for (int32_t count = draw(1, 12); count > 0; --count) {
    const int32_t tokens = draw(1, 4 * growth.block_size);
    const int32_t left = draw(0, 3 * std::min(growth.block_size, 40));
    sequences.push_back(load_of(tokens, left, growth, draw(0, tokens / growth.block_size)));
  }
  LockstepPeak peak;
  ASSERT_EQ(peak.of(sequences, growth), peak_by_running(sequences, growth))
      << "seed " << seed << " block size " << growth.block_size << " full groups " << growth.full_groups
      << " window groups " << growth.window_groups;
}

TEST(LockstepPeak, IsWhatRunningThemAllSays) {
  for (const int32_t block_size : {1, 3, 16, 1024}) {
    for (uint64_t seed = 0; seed < 400; ++seed) expect_what_running_says({block_size}, seed);
  }
}

TEST(LockstepPeak, IsWhatRunningThemAllSaysOfRings) {
  for (const auto& [full, windowed] : {std::pair{0, 1}, {1, 1}, {1, 5}, {3, 2}, {2, 0}}) {
    for (const int32_t block_size : {1, 3, 16, 1024}) {
      const BlockGrowth growth{.block_size = block_size, .full_groups = full, .window_groups = windowed};
      for (uint64_t seed = 0; seed < 200; ++seed) expect_what_running_says(growth, seed);
    }
  }
}

}  // namespace
}  // namespace sluice::scheduler
