#include "scheduler/block_forecast.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr int32_t kBlockSize = 16;

/// 100 answers have ended after 10 tokens: of those at 0, 1 in 101 gets further.
LengthBook short_answers() {
  LengthBook book;
  for (int i = 0; i < 100; ++i) book.note_finished(0, 10, false);
  book.refresh({});
  return book;
}

std::vector<SequenceLoad> four(int32_t shared = 0) {
  return {4, {.table = 1, .owned = 1 - shared, .final_blocks = 5, .tokens = 16, .left = 64}};
}

TEST(BlockForecast, TakesEveryoneToHisCapWhileNothingIsKnown) {
  const LengthBook book;
  const BlockForecast forecast(book, {kBlockSize});
  EXPECT_TRUE(forecast.fits(four(), 3, 20));
  EXPECT_FALSE(forecast.fits(four(), 3, 19));
}

TEST(BlockForecast, SizesAsAtTheEndOfEachIntervalOfTheGrid) {
  const LengthBook book = short_answers();
  const BlockForecast forecast(book, {kBlockSize});
  EXPECT_TRUE(forecast.fits(four(), 0, 8)) << "all are alive now and take their second block before the next point";
  EXPECT_FALSE(forecast.fits(four(), 0, 7));
}

// Before the last interval each is alive with p = 1 / 101, and at its end then owns 5 blocks: the mean is 20 / 101,
// sigma is 10 sqrt(p (1 - p)) = 0.990, and z sigma fill up 8 blocks at z = 7.88.
TEST(BlockForecast, KeepsAMarginOfZSigma) {
  const LengthBook book = short_answers();
  const BlockForecast forecast(book, {kBlockSize});
  EXPECT_TRUE(forecast.fits(four(), 7.87, 8));
  EXPECT_FALSE(forecast.fits(four(), 7.89, 8));
}

TEST(BlockForecast, LeavesOutWhatIsShared) {
  const LengthBook book = short_answers();
  const BlockForecast forecast(book, {kBlockSize});
  EXPECT_TRUE(forecast.fits(four(1), 0, 4));
  EXPECT_FALSE(forecast.fits(four(1), 0, 3));
}

TEST(BlockForecast, StopsCountingWhereRingsAreFull) {
  const LengthBook book;
  const kvcache::BlockGrowth growth{.block_size = kBlockSize, .full_groups = 1, .window_groups = 2, .ring_blocks = 2};
  const std::vector<SequenceLoad> sequences(4, {.table = 3, .owned = 3, .final_blocks = 9, .tokens = 16, .left = 64});
  EXPECT_TRUE(BlockForecast(book, growth).fits(sequences, 3, 36)) << "5 of the full group and 2 in each ring";
  EXPECT_FALSE(BlockForecast(book, growth).fits(sequences, 3, 35));
}

TEST(BlockForecast, OfNobodyFits) {
  const LengthBook book;
  EXPECT_TRUE(BlockForecast(book, {kBlockSize}).fits({}, 8, 0));
}

}  // namespace
}  // namespace sluice::scheduler
