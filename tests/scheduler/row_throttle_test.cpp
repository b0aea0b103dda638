#include "scheduler/row_throttle.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr int32_t kBlockSize = 16;

/// `left` blocks of tokens to go, `owned` there, the last of them full.
SequenceLoad load_of(int32_t owned, int32_t left) {
  return {.table = owned,
          .owned = owned,
          .final_blocks = owned + left,
          .tokens = owned * kBlockSize,
          .left = left * kBlockSize};
}

RowThrottle::Blocks blocks(int64_t capacity, int32_t free) {
  return {.capacity = capacity, .free = free, .growth = {kBlockSize}};
}

/// Answers were foretold to end after 10 tokens. Since then some end foretold have come, and then some have not.
LengthBook book_of(int32_t kept, int32_t broken) {
  LengthBook book;
  for (int i = 0; i < 400; ++i) book.note_finished(0, 10, false);
  book.refresh({});
  for (int i = 0; i < kept; ++i) book.note_drawn(0, 9, true);
  for (int i = 0; i < broken; ++i) book.note_drawn(0, 9, false);
  return book;
}

TEST(RowThrottle, LeavesEveryoneAloneWhileWhatWasForetoldComes) {
  const LengthBook trusted = book_of(50, 0);
  RowThrottle throttle;
  throttle.update(std::vector<SequenceLoad>(4, load_of(5, 10)), trusted, blocks(20, 0));
  EXPECT_FALSE(throttle.is_active());
}

TEST(RowThrottle, LeavesEveryoneAloneWhileBlocksAreNotScarce) {
  const LengthBook doubted = book_of(50, 30);
  const std::vector<SequenceLoad> loads(4, load_of(3, 10));
  RowThrottle throttle;
  throttle.update(loads, doubted, blocks(20, 8));
  EXPECT_FALSE(throttle.is_active());
  throttle.update(loads, doubted, blocks(19, 7));
  EXPECT_TRUE(throttle.is_active()) << "fewer than two for each of four";
}

/// Three groups, whose rings are far from full.
constexpr kvcache::BlockGrowth kThreeGroups{
    .block_size = kBlockSize, .full_groups = 1, .window_groups = 2, .ring_blocks = 100};

/// 48 tokens there, `left` blocks of the context to go.
SequenceLoad load_in_groups(int32_t left) {
  return {.table = 9, .owned = 9, .final_blocks = 9 + 3 * left, .tokens = 48, .left = left * kBlockSize};
}

TEST(RowThrottle, CountsBlocksScarceByTheGroupsThatTakeThem) {
  const LengthBook doubted = book_of(50, 30);
  const std::vector<SequenceLoad> loads(4, load_in_groups(10));
  RowThrottle throttle;
  throttle.update(loads, doubted, {.capacity = 60, .free = 24, .growth = kThreeGroups});
  EXPECT_FALSE(throttle.is_active());
  throttle.update(loads, doubted, {.capacity = 59, .free = 23, .growth = kThreeGroups});
  EXPECT_TRUE(throttle.is_active()) << "fewer than two for each group of four";
}

TEST(RowThrottle, LeavesBlocksOfAllGroupsForThoseWhoWantThemSoon) {
  const LengthBook doubted = book_of(50, 30);
  const std::vector<SequenceLoad> loads = {load_in_groups(1), load_in_groups(1), load_in_groups(10)};
  RowThrottle throttle;
  throttle.update(loads, doubted, {.capacity = 36, .free = 9, .growth = kThreeGroups});
  EXPECT_FALSE(throttle.is_slow(1)) << "three for each of them and three for the last one";
  EXPECT_TRUE(throttle.is_slow(2));
  throttle.update(loads, doubted, {.capacity = 35, .free = 8, .growth = kThreeGroups});
  EXPECT_FALSE(throttle.is_slow(0));
  EXPECT_TRUE(throttle.is_slow(1));
}

TEST(RowThrottle, LeavesEveryoneAloneWhoseRingsAreFull) {
  const LengthBook doubted = book_of(50, 30);
  const std::vector<SequenceLoad> loads(4, {.table = 3, .owned = 3, .final_blocks = 3, .tokens = 48, .left = 1000});
  RowThrottle throttle;
  const kvcache::BlockGrowth ring{.block_size = kBlockSize, .full_groups = 0, .window_groups = 1, .ring_blocks = 3};
  throttle.update(loads, doubted, {.capacity = 12, .free = 0, .growth = ring});
  EXPECT_FALSE(throttle.is_active());
}

TEST(RowThrottle, BeginsWhenLessThanHalfOfWhatWasForetoldHasCome) {
  const std::vector<SequenceLoad> loads(4, load_of(3, 10));
  RowThrottle throttle;
  const LengthBook less = book_of(50, 7);
  ASSERT_GT(less.at(0).trust(), 0.45);
  throttle.update(loads, less, blocks(19, 7));
  EXPECT_FALSE(throttle.is_active());
  const LengthBook least = book_of(50, 12);
  ASSERT_LT(least.at(0).trust(), 0.45);
  throttle.update(loads, least, blocks(19, 7));
  EXPECT_TRUE(throttle.is_active());
}

TEST(RowThrottle, LeavesEveryoneAloneWhereTheirCapsFit) {
  const LengthBook doubted = book_of(50, 30);
  const std::vector<SequenceLoad> loads(4, load_of(10, 1));  // 44 at their caps
  RowThrottle throttle;
  throttle.update(loads, doubted, blocks(44, 4));
  EXPECT_FALSE(throttle.is_active());
  throttle.update(loads, doubted, blocks(43, 3));
  EXPECT_TRUE(throttle.is_active());
}

TEST(RowThrottle, WeighsTheTrustOfEachTenantByHisSequences) {
  LengthBook book;
  const int32_t steady = book.entry_of(0);
  const int32_t changed = book.entry_of(1);
  for (const int32_t entry : {steady, changed}) {
    for (int i = 0; i < 100; ++i) book.note_finished(entry, 10, false);
  }
  book.refresh({});
  for (int i = 0; i < 60; ++i) book.note_drawn(changed, 9, false);
  std::vector<SequenceLoad> loads(4, load_of(3, 10));
  for (SequenceLoad& load : loads) load.lengths = steady;
  loads.back().lengths = changed;
  RowThrottle throttle;
  throttle.update(loads, book, blocks(19, 7));
  EXPECT_FALSE(throttle.is_active());
  for (size_t i = 1; i < 4; ++i) loads[i].lengths = changed;
  throttle.update(loads, book, blocks(19, 7));
  EXPECT_TRUE(throttle.is_active());
}

TEST(RowThrottle, LetsThoseGoOnWhoNeedTheLeastAsManyAsCanGetToTheirCaps) {
  const LengthBook doubted = book_of(50, 30);
  RowThrottle throttle;
  const std::vector<SequenceLoad> loads = {load_of(2, 9), load_of(4, 2), load_of(2, 8), load_of(3, 3)};
  // 2 and 3 of the 7 that are free; the 2 that are left are one for each of the two slow ones, who are at the end of
  // a block.
  throttle.update(loads, doubted, blocks(18, 7));
  EXPECT_TRUE(throttle.is_slow(0));
  EXPECT_FALSE(throttle.is_slow(1));
  EXPECT_TRUE(throttle.is_slow(2));
  EXPECT_FALSE(throttle.is_slow(3));
  EXPECT_FALSE(throttle.is_slow(4)) << "one that came later";
  throttle.update(loads, doubted, blocks(17, 6));
  EXPECT_TRUE(throttle.is_slow(3)) << "a block would be missing for those who go slowly";
  EXPECT_FALSE(throttle.is_slow(1));
}

TEST(RowThrottle, NeverSlowsEveryoneDown) {
  const LengthBook doubted = book_of(50, 30);
  RowThrottle throttle;
  const std::vector<SequenceLoad> loads = {load_of(8, 4), load_of(8, 3)};
  throttle.update(loads, doubted, blocks(19, 3));
  EXPECT_TRUE(throttle.is_slow(0));
  EXPECT_FALSE(throttle.is_slow(1));
}

TEST(RowThrottle, EndsOnlyWhenTheirCapsFit) {
  RowThrottle throttle;
  std::vector<SequenceLoad> loads(4, load_of(2, 10));
  throttle.update(loads, book_of(50, 30), blocks(15, 7));
  throttle.update(loads, book_of(50, 0), blocks(20, 12));
  EXPECT_TRUE(throttle.is_active()) << "the forecast was wrong before";
  loads.pop_back();
  throttle.update(loads, book_of(50, 0), blocks(35, 29));
  EXPECT_TRUE(throttle.is_active());
  throttle.update(loads, book_of(50, 0), blocks(36, 30));
  EXPECT_FALSE(throttle.is_active());
}

TEST(RowThrottle, OfNobodyIsNotActive) {
  RowThrottle throttle;
  throttle.update({}, book_of(50, 30), blocks(8, 0));
  EXPECT_FALSE(throttle.is_active());
}

}  // namespace
}  // namespace sluice::scheduler
