#include "scheduler/lockstep_peak.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

int64_t blocks_for(int64_t tokens, int64_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

SequenceLoad load_of(int32_t tokens, int32_t left, int32_t block_size, int32_t shared = 0) {
  const auto table = static_cast<int32_t>(blocks_for(tokens, block_size));
  return {.table = table,
          .owned = table - shared,
          .final_blocks = static_cast<int32_t>(blocks_for(tokens + left, block_size)),
          .tokens = tokens,
          .left = left};
}

/// By letting all of them run, a token a step.
int64_t peak_by_running(const std::vector<SequenceLoad>& sequences, int32_t block_size) {
  int64_t peak = 0;
  int32_t longest = 0;
  for (const SequenceLoad& sequence : sequences) longest = std::max(longest, sequence.left);
  for (int32_t step = 0; step <= longest; ++step) {
    int64_t alive = 0;
    for (const SequenceLoad& sequence : sequences) {
      if (sequence.left >= step) alive += blocks_for(sequence.tokens + step, block_size) - sequence.shared();
    }
    peak = std::max(peak, alive);
  }
  return peak;
}

TEST(LockstepPeak, OfNobodyIsNothing) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of({}, 16), 0);
}

TEST(LockstepPeak, OfOneIsHisCap) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of(std::vector{load_of(16, 16, 16)}, 16), 2);
  EXPECT_EQ(peak.of(std::vector{load_of(16, 17, 16)}, 16), 3);
  EXPECT_EQ(peak.of(std::vector{load_of(1, 0, 16)}, 16), 1);
}

TEST(LockstepPeak, LeavesOutWhatIsShared) {
  LockstepPeak peak;
  EXPECT_EQ(peak.of(std::vector{load_of(48, 16, 16, 2), load_of(48, 16, 16, 2)}, 16), 4);
}

TEST(LockstepPeak, IsWhatRunningThemAllSays) {
  LockstepPeak peak;
  for (const int32_t block_size : {1, 3, 16, 1024}) {
    for (uint64_t seed = 0; seed < 400; ++seed) {
      std::mt19937_64 random(seed);
      const auto draw = [&](int32_t low, int32_t high) {
        return std::uniform_int_distribution<int32_t>(low, high)(random);
      };
      std::vector<SequenceLoad> sequences;
      for (int32_t count = draw(1, 12); count > 0; --count) {
        const int32_t tokens = draw(1, 4 * block_size);
        sequences.push_back(
            load_of(tokens, draw(0, 3 * std::min(block_size, 40)), block_size, draw(0, tokens / block_size)));
      }
      ASSERT_EQ(peak.of(sequences, block_size), peak_by_running(sequences, block_size))
          << "seed " << seed << " block size " << block_size;
    }
  }
}

}  // namespace
}  // namespace sluice::scheduler
