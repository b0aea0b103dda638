#include "kvcache/shared_block_pool.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kvcache/allocation_count.h"

namespace sluice::kvcache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Expected {
  int32_t used = 0;
  int32_t cached = 0;
  int32_t shared = 0;
};

void expect_counts(const SharedBlockPool& pool, Expected expected) {
  const SharedBlockCounts counts = pool.counts();
  EXPECT_EQ(counts.capacity, pool.capacity());
  EXPECT_EQ(counts.used, expected.used);
  EXPECT_EQ(counts.free, pool.capacity() - expected.used);
  EXPECT_EQ(counts.cached, expected.cached);
  EXPECT_EQ(counts.shared, expected.shared);
}

BlockTable table_of(SharedBlockPool& pool, int32_t count) {
  BlockTable table = pool.new_table(pool.capacity());
  for (int32_t i = 0; i < count; ++i) table.take();
  return table;
}

/// A table of kept blocks.
BlockTable kept_table_of(SharedBlockPool& pool, int32_t count) {
  BlockTable table = table_of(pool, count);
  for (const int32_t block : table.blocks()) pool.keep(block);
  return table;
}

BlockTable fork_of(SharedBlockPool& pool, const BlockTable& parent) {
  BlockTable child = pool.new_table(pool.capacity());
  for (const int32_t block : parent.blocks()) child.share(block);
  return child;
}

class EvictionLog final : public EvictionSink {
 public:
  void evicted(int32_t block) override { blocks.push_back(block); }
  std::vector<int32_t> blocks;
};

TEST(SharedBlockPoolDeathTest, RefusesToTakeFromAnEmptyPool) {
  SharedBlockPool pool(1, 16);
  const BlockTable first = table_of(pool, 1);
  BlockTable second = pool.new_table(1);
  EXPECT_DEATH(second.take(), "cached_.empty\\(\\)");
}

TEST(SharedBlockPoolDeathTest, RefusesBlocksForTheTableOfNoSequence) {
  SharedBlockPool pool(4, 16);
  const BlockTable other = table_of(pool, 1);
  BlockTable none;
  EXPECT_DEATH(none.take(), "pool_ != nullptr");
  EXPECT_DEATH(none.share(0), "pool_ != nullptr");
}

TEST(SharedBlockPoolDeathTest, RefusesToShareWhatHasNoContent) {
  SharedBlockPool pool(4, 16);
  BlockTable table = table_of(pool, 1);
  EXPECT_DEATH(table.share(3), "is_kept");
  EXPECT_DEATH(table.share(4), "capacity\\(\\)");
  EXPECT_DEATH(table.share(-1), "block >= 0");
}

TEST(SharedBlockPoolDeathTest, RefusesToShareATablesBlockWithItself) {
  SharedBlockPool pool(4, 16);
  BlockTable table = table_of(pool, 1);
  EXPECT_DEATH(table.share(0), "holders == place");
}

TEST(SharedBlockPoolDeathTest, RefusesToKeepOrDiscardWhatIsNotThere) {
  SharedBlockPool pool(4, 16);
  EXPECT_DEATH(pool.keep(0), "holder_count > 0");
  const BlockTable table = table_of(pool, 1);
  EXPECT_DEATH(pool.discard(0), "is_kept");
}

TEST(SharedBlockPoolDeathTest, RefusesATableNobodyCouldFill) {
  SharedBlockPool pool(4, 16);
  EXPECT_DEATH(pool.new_table(5), "block_count_max <= capacity\\(\\)");
  EXPECT_DEATH(pool.new_table(-1), "block_count_max >= 0");
}

TEST(SharedBlockPoolDeathTest, RefusesToEndBeforeItsTables) {
  EXPECT_DEATH(
      {
        BlockTable survivor;
        SharedBlockPool pool(2, 16);
        survivor = table_of(pool, 1);
      },
      "used == 0");
  EXPECT_DEATH(
      {
        BlockTable survivor;
        SharedBlockPool pool(2, 16);
        survivor = table_of(pool, 0);
      },
      "no_holding_.size\\(\\) == holdings_.size\\(\\)");
}

TEST(SharedBlockPoolDeathTest, RefusesASecondSink) {
  SharedBlockPool pool(2, 16);
  EvictionLog log;
  pool.set_eviction_sink(&log);
  EXPECT_DEATH(pool.set_eviction_sink(&log), "sink_ == nullptr");
}

TEST(SharedBlockPoolDeathTest, RefusesGeometryWithoutSlotsOrBeyond32Bits) {
  EXPECT_DEATH(SharedBlockPool(0, 16), "block_count >= 1");
  EXPECT_DEATH(SharedBlockPool(-1, 16), "block_count >= 1");
  EXPECT_DEATH(SharedBlockPool(1, 0), "block_size >= 1");
  EXPECT_DEATH(SharedBlockPool(1 << 20, 1 << 11), "block_count");
}

TEST(SharedBlockPool, StartsEmpty) {
  const SharedBlockPool pool(7, 16);
  expect_counts(pool, {});
  EXPECT_EQ(pool.block_size(), 16);
}

TEST(SharedBlockPool, HandsOutTheWholeCapacity) {
  SharedBlockPool pool(3, 16);
  const BlockTable all = table_of(pool, 3);
  EXPECT_THAT(all.blocks(), ElementsAre(0, 1, 2));
  EXPECT_EQ(all.owned_count(), 3);
  expect_counts(pool, {.used = 3});
}

TEST(SharedBlockPool, ReusesTheBlocksGivenBackLastInTheirOrder) {
  SharedBlockPool pool(8, 16);
  BlockTable first = table_of(pool, 2);
  BlockTable second = table_of(pool, 1);
  first.release();
  second.take();
  second.take();
  EXPECT_THAT(second.blocks(), ElementsAre(2, 0, 1));
}

TEST(SharedBlockPool, ReleasesOnceWhateverIsCalledAfter) {
  SharedBlockPool pool(4, 16);
  BlockTable table = table_of(pool, 2);
  table.release();
  table.release();
  EXPECT_THAT(table.blocks(), IsEmpty());
  EXPECT_EQ(table.count(), 0);
  EXPECT_EQ(table.owned_count(), 0);
  expect_counts(pool, {});
}

TEST(SharedBlockPool, KeepsAccountsThroughMoves) {
  SharedBlockPool pool(8, 16);
  BlockTable first = table_of(pool, 2);
  const BlockTable fork = fork_of(pool, first);
  BlockTable moved = std::move(first);
  EXPECT_THAT(moved.blocks(), ElementsAre(0, 1));

  BlockTable other = table_of(pool, 3);
  other = std::move(moved);  // what `other` had goes back
  EXPECT_THAT(other.blocks(), ElementsAre(0, 1));
  expect_counts(pool, {.used = 2, .shared = 2});

  other.release();
  EXPECT_EQ(fork.owned_count(), 2);
}

TEST(SharedBlockPool, AMovedTableStillLearnsThatABlockIsItsOwn) {
  SharedBlockPool pool(8, 16);
  const BlockTable bystander = table_of(pool, 1);
  BlockTable first = table_of(pool, 2);
  BlockTable fork = fork_of(pool, first);
  const BlockTable moved = std::move(first);
  EXPECT_THAT(moved.blocks(), ElementsAre(1, 2));
  EXPECT_EQ(moved.owned_count(), 0);
  fork.release();
  EXPECT_EQ(moved.owned_count(), 2);
  EXPECT_EQ(bystander.owned_count(), 1);
}

TEST(SharedBlockPool, AppendsWithoutAllocatingUpToATablesMaximum) {
  SharedBlockPool pool(64, 16);
  const BlockTable parent = table_of(pool, 32);
  BlockTable table = pool.new_table(64);
  const int64_t before = allocation_count();
  for (const int32_t block : parent.blocks()) table.share(block);
  while (table.count() < 64) table.take();
  EXPECT_EQ(allocation_count(), before);
}

TEST(SharedBlockPool, EndsTablesWithoutAllocating) {
  SharedBlockPool pool(8, 16);
  std::vector<BlockTable> tables(5);
  for (BlockTable& table : tables) table = table_of(pool, 1);
  const int64_t before = allocation_count();
  for (BlockTable& table : tables) table.release();
  EXPECT_EQ(allocation_count(), before);
}

TEST(SharedBlockPool, CountsABlockAsOwnedByTheOnlyTableThatHasIt) {
  SharedBlockPool pool(8, 16);
  BlockTable a = table_of(pool, 2);
  BlockTable b = fork_of(pool, a);
  BlockTable c = fork_of(pool, a);
  b.take();
  EXPECT_EQ(a.owned_count(), 0);
  EXPECT_EQ(b.owned_count(), 1);
  expect_counts(pool, {.used = 3, .shared = 2});

  a.release();
  EXPECT_EQ(b.owned_count(), 1);
  EXPECT_EQ(c.owned_count(), 0);
  expect_counts(pool, {.used = 3, .shared = 2});

  c.release();
  EXPECT_EQ(b.owned_count(), 3);
  expect_counts(pool, {.used = 3});
}

TEST(SharedBlockPool, CachesKeptBlocksOnlyWhenTheirLastTableEnds) {
  SharedBlockPool pool(8, 16);
  BlockTable a = kept_table_of(pool, 2);
  a.take();
  BlockTable b = fork_of(pool, a);
  a.release();
  expect_counts(pool, {.used = 3});
  b.release();
  expect_counts(pool, {.used = 0, .cached = 2});
}

TEST(SharedBlockPool, SharesCachedBlocksAgain) {
  SharedBlockPool pool(8, 16);
  kept_table_of(pool, 2).release();
  BlockTable table = pool.new_table(2);
  table.share(0);
  table.share(1);
  EXPECT_EQ(table.owned_count(), 2);
  expect_counts(pool, {.used = 2});
  table.release();
  expect_counts(pool, {.used = 0, .cached = 2});
}

TEST(SharedBlockPool, TakesEmptyBlocksBeforeCachedOnes) {
  SharedBlockPool pool(3, 16);
  EvictionLog log;
  pool.set_eviction_sink(&log);
  kept_table_of(pool, 2).release();
  BlockTable table = table_of(pool, 1);
  EXPECT_THAT(log.blocks, IsEmpty());
  expect_counts(pool, {.used = 1, .cached = 2});
  table.take();
  EXPECT_THAT(log.blocks, ElementsAre(1));
  EXPECT_FALSE(pool.is_kept(1));
  EXPECT_TRUE(pool.is_kept(0));
  expect_counts(pool, {.used = 2, .cached = 1});
}

TEST(SharedBlockPool, EvictsTheLeastRecentlyUsedAndTheEndOfATableBeforeItsBeginning) {
  SharedBlockPool pool(6, 16);
  EvictionLog log;
  pool.set_eviction_sink(&log);
  BlockTable first = kept_table_of(pool, 2);
  BlockTable second = kept_table_of(pool, 2);
  BlockTable third = kept_table_of(pool, 2);
  second.release();
  first.release();
  third.release();
  BlockTable again = pool.new_table(1);
  again.share(3);  // what is used again is no longer old
  again.release();
  const BlockTable all = table_of(pool, 6);
  EXPECT_THAT(log.blocks, ElementsAre(2, 1, 0, 5, 4, 3));
}

TEST(SharedBlockPool, DiscardsContentOfCachedBlocksAndOfUsedOnes) {
  SharedBlockPool pool(4, 16);
  EvictionLog log;
  pool.set_eviction_sink(&log);
  kept_table_of(pool, 1).release();
  pool.discard(0);
  expect_counts(pool, {});
  BlockTable table = kept_table_of(pool, 2);
  pool.discard(table.blocks()[0]);
  table.release();
  expect_counts(pool, {.used = 0, .cached = 1});
  EXPECT_THAT(log.blocks, IsEmpty());
}

}  // namespace
}  // namespace sluice::kvcache
