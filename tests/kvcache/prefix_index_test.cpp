#include "kvcache/prefix_index.h"

#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kvcache/allocation_count.h"

namespace sluice::kvcache {
namespace {

using ::testing::ElementsAre;

constexpr int32_t kBlockSize = 4;
constexpr int32_t kAll = 1000;

/// A sequence with its keys.
struct Prompt {
  std::vector<int32_t> tokens;
  std::vector<BlockKey> keys;
};

BlockHasher test_hasher() {
  return {std::vector<std::byte>(16), "model"};
}

Prompt prompt_of(std::vector<int32_t> tokens, std::string_view salt = "") {
  std::vector<BlockKey> keys = prompt_keys(test_hasher(), salt, tokens, kBlockSize);
  return {std::move(tokens), std::move(keys)};
}

/// Tokens first, first + 1, ...
Prompt prompt_from(int32_t first, int32_t block_count, std::string_view salt = "") {
  std::vector<int32_t> tokens(static_cast<size_t>(block_count * kBlockSize));
  std::iota(tokens.begin(), tokens.end(), first);
  return prompt_of(std::move(tokens), salt);
}

std::span<const int32_t> block_of(const Prompt& prompt, int32_t number) {
  return std::span(prompt.tokens).subspan(static_cast<size_t>(number * kBlockSize), kBlockSize);
}

class PrefixIndexTest : public ::testing::Test {
 protected:
  explicit PrefixIndexTest(const BlockGrowth& growth = {kBlockSize}) : pool_(8, growth) {}

  int32_t match(const Prompt& prompt, int32_t from = 0, int32_t limit = kAll) const {
    return index_.match(prompt.keys, prompt.tokens, from, limit);
  }
  int32_t attach(BlockTable& table, const Prompt& prompt, int32_t limit = kAll) {
    return index_.attach(table, prompt.keys, prompt.tokens, limit);
  }
  void publish(const BlockTable& table, const Prompt& prompt, int32_t number) {
    index_.publish(table, number, prompt.keys[static_cast<size_t>(number)], block_of(prompt, number));
  }
  /// A sequence that finds what it can and computes the rest.
  BlockTable serve(const Prompt& prompt) {
    BlockTable table = pool_.new_table(pool_.capacity());
    for (int32_t i = attach(table, prompt); i < static_cast<int32_t>(prompt.keys.size()); ++i) {
      while (table.count() < pool_.growth().blocks_for((i + 1) * kBlockSize)) table.take();
      publish(table, prompt, i);
    }
    return table;
  }

  SharedBlockPool pool_;
  PrefixIndex index_{pool_};
};

/// A block of a sequence is two of the pool.
class PrefixIndexOfGroups : public PrefixIndexTest {
 protected:
  PrefixIndexOfGroups()
      : PrefixIndexTest(
            {.block_size = kBlockSize, .full_groups = 1, .window_groups = 1, .ring_blocks = 4, .window = 1}) {}
};

using PrefixIndexDeathTest = PrefixIndexTest;

TEST_F(PrefixIndexDeathTest, RefusesWhatIsNoBlockOfTheTable) {
  const Prompt prompt = prompt_from(0, 2);
  BlockTable table = pool_.new_table(1);
  table.take();
  EXPECT_DEATH(publish(table, prompt, 1), "number < table.count\\(\\)");
  EXPECT_DEATH(index_.publish(table, -1, prompt.keys[0], block_of(prompt, 0)), "number >= 0");
  EXPECT_DEATH(index_.publish({}, 0, prompt.keys[0], block_of(prompt, 0)), "number < table.count\\(\\)");
}

TEST_F(PrefixIndexOfGroups, RefusesABlockThatNotAllGroupsHaveDeathTest) {
  const Prompt prompt = prompt_from(0, 1);
  BlockTable table = pool_.new_table(2);
  table.take();
  EXPECT_DEATH(publish(table, prompt, 0), "number < table.count\\(\\)");
}

TEST_F(PrefixIndexDeathTest, RefusesWhatIsNotAFullBlock) {
  const Prompt prompt = prompt_from(0, 1);
  BlockTable table = pool_.new_table(1);
  table.take();
  EXPECT_DEATH(index_.publish(table, 0, prompt.keys[0], block_of(prompt, 0).first(3)), "block_size\\(\\)");
  EXPECT_DEATH(match({prompt.tokens, std::vector<BlockKey>(2)}), "keys.size\\(\\)");
}

TEST_F(PrefixIndexDeathTest, RefusesASecondContentOfOneBlock) {
  const BlockTable table = serve(prompt_from(0, 1));
  EXPECT_DEATH(publish(table, prompt_from(1, 1), 0), "is_kept");
}

TEST_F(PrefixIndexDeathTest, IsTheOnlyOneOfItsPool) {
  EXPECT_DEATH(PrefixIndex second(pool_), "sink_ == nullptr");
}

TEST_F(PrefixIndexTest, KnowsNothingAtFirst) {
  BlockTable table = pool_.new_table(2);
  EXPECT_EQ(match(prompt_from(0, 2)), 0);
  EXPECT_EQ(attach(table, prompt_from(0, 2)), 0);
  EXPECT_EQ(match(prompt_of({})), 0);
  EXPECT_EQ(index_.known_count(), 0);
}

TEST_F(PrefixIndexTest, KnowsABlockOnlyOnceItIsPublished) {
  const Prompt prompt = prompt_from(0, 2);
  BlockTable table = pool_.new_table(2);
  table.take();
  table.take();
  EXPECT_EQ(match(prompt), 0);
  publish(table, prompt, 0);
  EXPECT_EQ(match(prompt), 1);
  publish(table, prompt, 1);
  EXPECT_EQ(match(prompt), 2);
  EXPECT_EQ(index_.known_count(), 2);
}

TEST_F(PrefixIndexOfGroups, SharesTheBlocksOfAllGroups) {
  const Prompt prompt = prompt_from(0, 2);
  const BlockTable first = serve(prompt);
  EXPECT_EQ(index_.known_count(), 2);
  BlockTable second = pool_.new_table(8);
  EXPECT_EQ(attach(second, prompt, 1), 1);
  EXPECT_THAT(second.blocks(), ElementsAre(0, 1));
  EXPECT_EQ(attach(second, prompt), 1);
  EXPECT_THAT(second.blocks(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(first.owned_count(), 0);
}

TEST_F(PrefixIndexOfGroups, ForgetsAllOfABlockWhenOneGroupsIsOverwritten) {
  const Prompt old = prompt_from(0, 2);
  const Prompt recent = prompt_from(100, 2);
  serve(old).release();
  serve(recent).release();
  ASSERT_EQ(pool_.counts().cached, 8);
  BlockTable table = pool_.new_table(8);
  for (const auto& [old_left, recent_left] :
       std::vector<std::pair<int32_t, int32_t>>{{1, 2}, {1, 2}, {0, 2}, {0, 2}, {0, 1}, {0, 1}, {0, 0}, {0, 0}}) {
    table.take();
    EXPECT_EQ(match(old), old_left) << table.count();
    EXPECT_EQ(match(recent), recent_left) << table.count();
    EXPECT_EQ(index_.known_count(), old_left + recent_left);
    EXPECT_EQ(pool_.counts().cached, 2 * (old_left + recent_left)) << "what is left of a forgotten block is empty";
    EXPECT_EQ(pool_.counts().free, 8 - table.count());
  }
}

TEST_F(PrefixIndexTest, MatchesFromAnyBlockUpToTheLimit) {
  const Prompt prompt = prompt_from(0, 3);
  const BlockTable table = serve(prompt);
  EXPECT_EQ(match(prompt, 0, 0), 0);
  EXPECT_EQ(match(prompt, 0, 2), 2);
  EXPECT_EQ(match(prompt, 0, 3), 3);
  EXPECT_EQ(match(prompt, 0, 4), 3);
  EXPECT_EQ(match(prompt, 2), 1);
  EXPECT_EQ(match(prompt, 3), 0);
  EXPECT_EQ(match(prompt, 4), 0);
}

TEST_F(PrefixIndexTest, StopsAtTheFirstUnknownBlock) {
  const Prompt prompt = prompt_from(0, 3);
  BlockTable table = pool_.new_table(3);
  for (int32_t i = 0; i < 3; ++i) table.take();
  publish(table, prompt, 0);
  publish(table, prompt, 2);
  EXPECT_EQ(match(prompt), 1);
  EXPECT_EQ(match(prompt, 1), 0);
  EXPECT_EQ(match(prompt, 2), 1);
}

TEST_F(PrefixIndexTest, AttachesWhileTheOtherTableStillRuns) {
  const Prompt prompt = prompt_from(0, 3);
  const BlockTable first = serve(prompt);
  BlockTable second = pool_.new_table(3);
  EXPECT_EQ(attach(second, prompt, 1), 1);
  EXPECT_THAT(second.blocks(), ElementsAre(0));
  EXPECT_EQ(attach(second, prompt), 2);  // goes on where the table ends
  EXPECT_THAT(second.blocks(), ElementsAre(0, 1, 2));
  EXPECT_EQ(attach(second, prompt), 0);
  EXPECT_EQ(pool_.counts().shared, 3);
  EXPECT_EQ(first.owned_count(), 0);
}

TEST_F(PrefixIndexTest, AttachesNothingToATableThatIsPastTheKeys) {
  const Prompt prompt = prompt_from(0, 1);
  const BlockTable first = serve(prompt);
  BlockTable second = pool_.new_table(3);
  second.take();
  second.take();
  EXPECT_EQ(attach(second, prompt), 0);
}

TEST_F(PrefixIndexTest, KeepsContentAfterTheLastTableEnds) {
  const Prompt prompt = prompt_from(0, 3);
  serve(prompt).release();
  EXPECT_EQ(pool_.counts().used, 0);
  EXPECT_EQ(pool_.counts().cached, 3);
  EXPECT_EQ(match(prompt), 3);
  const BlockTable again = serve(prompt);
  EXPECT_THAT(again.blocks(), ElementsAre(0, 1, 2));
  EXPECT_EQ(pool_.counts().cached, 0);
}

TEST_F(PrefixIndexTest, ForgetsTheEndOfTheOldestSequenceFirst) {
  const Prompt old = prompt_from(0, 3);
  const Prompt recent = prompt_from(100, 3);
  serve(old).release();
  serve(recent).release();
  BlockTable table = pool_.new_table(8);
  for (const auto& [old_left, recent_left] :
       std::vector<std::pair<int32_t, int32_t>>{{3, 3}, {3, 3}, {2, 3}, {1, 3}, {0, 3}, {0, 2}, {0, 1}, {0, 0}}) {
    table.take();
    EXPECT_EQ(match(old), old_left) << table.count();
    EXPECT_EQ(match(recent), recent_left) << table.count();
    EXPECT_EQ(index_.known_count(), old_left + recent_left);
  }
}

TEST_F(PrefixIndexTest, GivesARefusedAdmissionsBlocksBackWithTheirContent) {
  const Prompt prompt = prompt_from(0, 3);
  serve(prompt).release();
  BlockTable table = pool_.new_table(3);
  EXPECT_EQ(attach(table, prompt), 3);
  table.release();
  EXPECT_EQ(pool_.counts().cached, 3);
  EXPECT_EQ(match(prompt), 3);
}

TEST_F(PrefixIndexTest, LeavesTheKnownBlockTheKnownOne) {
  const Prompt prompt = prompt_from(0, 1);
  BlockTable first = pool_.new_table(1);
  BlockTable second = pool_.new_table(1);
  first.take();
  second.take();
  publish(second, prompt, 0);
  publish(first, prompt, 0);
  EXPECT_EQ(index_.known_count(), 1);
  BlockTable third = pool_.new_table(1);
  attach(third, prompt);
  EXPECT_THAT(third.blocks(), ElementsAre(1));
  first.release();
  EXPECT_EQ(pool_.counts().cached, 0);
}

TEST_F(PrefixIndexTest, PublishingAgainChangesNothing) {
  const Prompt prompt = prompt_from(0, 1);
  const BlockTable table = serve(prompt);
  publish(table, prompt, 0);
  EXPECT_EQ(index_.known_count(), 1);
}

TEST_F(PrefixIndexTest, ComparesTokensWhenKeysCollide) {
  const Prompt prompt = prompt_from(0, 1);
  const BlockTable table = serve(prompt);
  for (size_t i = 0; i < kBlockSize; ++i) {
    Prompt forged = prompt;
    ++forged.tokens[i];
    EXPECT_EQ(match(forged), 0) << i;
    BlockTable other = pool_.new_table(1);
    EXPECT_EQ(attach(other, forged), 0) << i;
    // Not published either: one key, one block.
    other.take();
    publish(other, forged, 0);
    EXPECT_EQ(match(forged), 0);
    EXPECT_EQ(match(prompt), 1);
  }
}

TEST_F(PrefixIndexTest, TellsApartKeysOfOneChain) {
  // Equal low halves meet in the same chain of the hash table.
  Prompt a = prompt_from(0, 1);
  Prompt b = prompt_from(10, 1);
  Prompt c = prompt_from(20, 1);
  a.keys = {{.high = 1, .low = 5}};
  b.keys = {{.high = 2, .low = 5}};
  c.keys = {{.high = 3, .low = 5}};
  serve(a).release();
  BlockTable table_b = serve(b);
  const BlockTable table_c = serve(c);
  EXPECT_EQ(match(a) + match(b) + match(c), 3);
  BlockTable rest = pool_.new_table(8);
  for (int32_t i = 0; i < 6; ++i) rest.take();  // forgets a, the last of the chain
  EXPECT_EQ(match(a), 0);
  EXPECT_EQ(match(b) + match(c), 2);
  table_b.release();
  rest.take();  // forgets b, in its middle
  EXPECT_EQ(match(b), 0);
  EXPECT_EQ(match(c), 1);
}

TEST_F(PrefixIndexTest, KeepsSaltsApart) {
  const BlockTable table = serve(prompt_from(0, 3, "tenant a"));
  EXPECT_EQ(match(prompt_from(0, 3, "tenant a")), 3);
  EXPECT_EQ(match(prompt_from(0, 3, "tenant b")), 0);
  EXPECT_EQ(match(prompt_from(0, 3)), 0);
}

TEST_F(PrefixIndexTest, NeedsEverythingBeforeTheBlockToBeTheSame) {
  const BlockTable table = serve(prompt_of({1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(match(prompt_of({1, 1, 1, 1, 2, 2, 2, 2, 3})), 2);
  EXPECT_EQ(match(prompt_of({1, 1, 1, 1, 2, 2, 2, 3})), 1);
  EXPECT_EQ(match(prompt_of({2, 2, 2, 2})), 0);
  EXPECT_EQ(match(prompt_of({0, 1, 1, 1, 2, 2, 2, 2}), 1), 0);
}

TEST_F(PrefixIndexTest, AChildWhoseParentIsEvictedIsReachedAgainOnceTheParentIsBack) {
  const Prompt prompt = prompt_from(0, 2);
  BlockTable parent = pool_.new_table(1);
  parent.take();
  publish(parent, prompt, 0);
  BlockTable child = pool_.new_table(2);
  child.take();  // its own copy of the first block, not the known one
  child.take();
  publish(child, prompt, 1);
  parent.release();
  BlockTable others = pool_.new_table(8);
  for (int32_t i = 0; i < 6; ++i) others.take();
  EXPECT_EQ(match(prompt), 0);
  EXPECT_EQ(match(prompt, 1), 1);
  publish(child, prompt, 0);
  EXPECT_EQ(match(prompt), 2);
}

TEST_F(PrefixIndexTest, ForgetsAllContentWhenCleared) {
  const Prompt running = prompt_from(0, 2);
  const Prompt cached = prompt_from(100, 2);
  BlockTable table = serve(running);
  serve(cached).release();
  index_.clear();
  EXPECT_EQ(index_.known_count(), 0);
  EXPECT_EQ(match(running) + match(cached), 0);
  EXPECT_EQ(pool_.counts().cached, 0);
  EXPECT_THAT(table.blocks(), ElementsAre(0, 1));
  publish(table, running, 0);
  EXPECT_EQ(match(running), 1);
  table.release();
  EXPECT_EQ(pool_.counts().cached, 1);
}

TEST(PrefixIndex, EndsBeforeItsPoolAndTables) {
  SharedBlockPool pool(2, 1);
  BlockTable table = pool.new_table(2);
  table.take();
  {
    PrefixIndex index(pool);
    index.publish(table, 0, {}, std::vector<int32_t>{7});
  }
  table.release();
  EXPECT_EQ(pool.counts().cached, 0);
  PrefixIndex next(pool);
  EXPECT_EQ(next.match(std::vector<BlockKey>(1), std::vector<int32_t>{7}, 0, 1), 0);
}

TEST_F(PrefixIndexTest, AllocatesNothingInTheSteadyState) {
  std::vector<Prompt> prompts;
  for (int32_t i = 0; i < 12; ++i) prompts.push_back(prompt_from(i % 4 * 100, 1 + i % 3, i % 2 == 0 ? "" : "salt"));
  const auto serve_all = [&] {
    BlockTable previous;
    for (const Prompt& prompt : prompts) previous = serve(prompt);
  };
  serve_all();
  const int64_t before = allocation_count();
  for (int32_t round = 0; round < 20; ++round) {
    serve_all();
    index_.clear();
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace sluice::kvcache
