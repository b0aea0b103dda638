#include "engine/load_shares.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;

// A model of 100 bytes, of which some are both ranks'.
TEST(LoadShares, TellsHowFarTheRankIsThatIsFurthestBehind) {
  std::vector<int64_t> told;
  const LoadWatch watch = [&](int64_t bytes) { told.push_back(bytes); };
  LoadShares shares(100, {60, 80}, watch);
  shares.note(0, 30);
  shares.note(1, 20);
  shares.note(1, 60);
  shares.note(0, 60);
  shares.note(1, 79);
  shares.note(1, 80);
  EXPECT_THAT(told, ElementsAre(0, 25, 50, 75, 98, 100));
}

TEST(LoadShares, EndsWithTheWholeInWhateverOrderThreadsNote) {
  constexpr int32_t kRanks = 3;
  constexpr int64_t kBytes = 1000;
  std::vector<int64_t> told;  // by one rank at a time
  const LoadWatch watch = [&](int64_t bytes) { told.push_back(bytes); };
  LoadShares shares(kBytes, std::vector<int64_t>(kRanks, 400), watch);
  std::vector<std::thread> ranks;
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&shares, rank] {
      for (int64_t bytes = 1; bytes <= 400; ++bytes) shares.note(rank, bytes);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(told.size(), kRanks * 400U);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), kBytes);
}

}  // namespace
}  // namespace sluice::engine
