#include "kvcache/block_pool.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::kvcache {
namespace {

using ::testing::ElementsAre;

void expect_counts(const BlockPool& pool, int32_t used, int32_t reserved) {
  const BlockCounts counts = pool.counts();
  EXPECT_EQ(counts.capacity, pool.capacity());
  EXPECT_EQ(counts.used, used);
  EXPECT_EQ(counts.free, pool.capacity() - used);
  EXPECT_EQ(counts.reserved, reserved);
}

TEST(BlockPoolDeathTest, RefusesToTakeBeyondTheFinalCount) {
  BlockPool pool(4, 16);
  Reservation reservation = pool.reserve(1);
  reservation.take();
  EXPECT_DEATH(reservation.take(), "taken_count\\(\\) < final_count_");
}

TEST(BlockPoolDeathTest, RefusesToTakeWithoutAReservation) {
  Reservation none;
  EXPECT_DEATH(none.take(), "taken_count\\(\\) < final_count_");
}

TEST(BlockPoolDeathTest, RefusesToTakeFromAnEmptyPool) {
  BlockPool pool(1, 16);
  Reservation first = pool.reserve(1);
  Reservation second = pool.reserve(1);
  first.take();
  EXPECT_DEATH(second.take(), "free_.empty\\(\\)");
}

TEST(BlockPoolDeathTest, RefusesAReservationNobodyCouldFulfil) {
  BlockPool pool(4, 16);
  EXPECT_DEATH(pool.reserve(5), "final_count <= capacity\\(\\)");
  EXPECT_DEATH(pool.reserve(-1), "final_count >= 0");
}

TEST(BlockPoolDeathTest, RefusesToEndBeforeItsReservations) {
  EXPECT_DEATH(
      {
        Reservation survivor;
        BlockPool pool(2, 16);
        survivor = pool.reserve(1);
      },
      "reserved_count_ == 0");
}

TEST(BlockPoolDeathTest, RefusesGeometryWithoutSlotsOrBeyond32Bits) {
  EXPECT_DEATH(BlockPool(0, 16), "block_count >= 1");
  EXPECT_DEATH(BlockPool(1, 0), "block_size >= 1");
  EXPECT_DEATH(BlockPool(1 << 20, 1 << 11), "block_count");
}

TEST(BlockPool, StartsFree) {
  const BlockPool pool(7, 16);
  expect_counts(pool, 0, 0);
  EXPECT_EQ(pool.block_size(), 16);
}

TEST(BlockPool, RoundsTokensUpToBlocks) {
  const BlockPool pool(4, 16);
  EXPECT_EQ(pool.blocks_for(0), 0);
  EXPECT_EQ(pool.blocks_for(1), 1);
  EXPECT_EQ(pool.blocks_for(16), 1);
  EXPECT_EQ(pool.blocks_for(17), 2);
  EXPECT_EQ(pool.blocks_for(int64_t{1} << 40), int64_t{1} << 36);
}

TEST(BlockPool, CountsWhatIsReservedApartFromWhatIsTaken) {
  BlockPool pool(8, 16);
  Reservation reservation = pool.reserve(3);
  expect_counts(pool, 0, 3);
  reservation.take();
  expect_counts(pool, 1, 3);
  EXPECT_EQ(reservation.taken_count(), 1);
  EXPECT_EQ(reservation.final_count(), 3);
}

TEST(BlockPool, HandsOutTheWholeCapacity) {
  BlockPool pool(3, 16);
  Reservation all = pool.reserve(3);
  all.take();
  all.take();
  all.take();
  expect_counts(pool, 3, 3);
  EXPECT_THAT(all.block_table(), ElementsAre(0, 1, 2));
}

TEST(BlockPool, ReturnsReservationWhenSequenceEnds) {
  BlockPool pool(4, 16);
  {
    Reservation reservation = pool.reserve(4);
    reservation.take();
    expect_counts(pool, 1, 4);
  }
  expect_counts(pool, 0, 0);
}

TEST(BlockPool, ReleasesOnceWhateverIsCalledAfter) {
  BlockPool pool(4, 16);
  Reservation reservation = pool.reserve(2);
  reservation.take();
  reservation.release();
  reservation.release();
  expect_counts(pool, 0, 0);
  EXPECT_TRUE(reservation.block_table().empty());
  EXPECT_EQ(reservation.final_count(), 0);
}

TEST(BlockPool, ReusesTheBlocksGivenBackLastInTheirOrder) {
  BlockPool pool(8, 16);
  Reservation first = pool.reserve(3);
  Reservation second = pool.reserve(3);
  first.take();
  first.take();
  second.take();
  first.release();
  second.take();
  second.take();
  EXPECT_THAT(second.block_table(), ElementsAre(2, 0, 1));
}

TEST(BlockPool, KeepsAccountsThroughMoves) {
  BlockPool pool(8, 16);
  Reservation first = pool.reserve(3);
  first.take();
  Reservation moved = std::move(first);
  expect_counts(pool, 1, 3);
  EXPECT_THAT(moved.block_table(), ElementsAre(0));

  Reservation other = pool.reserve(4);
  other.take();
  other = std::move(moved);  // what `other` had goes back
  expect_counts(pool, 1, 3);
  EXPECT_THAT(other.block_table(), ElementsAre(0));
}

TEST(BlockPool, LeavesOvercommitToThePolicy) {
  BlockPool pool(4, 16);
  const Reservation first = pool.reserve(4);
  const Reservation second = pool.reserve(4);
  expect_counts(pool, 0, 8);
}

}  // namespace
}  // namespace sluice::kvcache
