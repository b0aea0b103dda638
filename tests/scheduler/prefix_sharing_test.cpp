#include "scheduler/prefix_sharing.h"

#include <gtest/gtest.h>

#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

constexpr int32_t kBlockSize = 4;

class Sharing : public ::testing::Test {
 protected:
  explicit Sharing(const kvcache::BlockGrowth& growth = {kBlockSize}) : pool_(16, growth) {}

  /// The first `same` tokens are those of every other one.
  Submission submission_of(uint64_t id, int32_t prompt, int32_t same, const std::string& salt = "") {
    Submission submission;
    submission.id = {id};
    for (int32_t i = 0; i < prompt; ++i) {
      submission.prompt.push_back(i < same ? i : static_cast<int32_t>(id) * 1000 + i);
    }
    submission.max_new_tokens = 20;
    add_prefix_keys(submission, hasher_, kBlockSize, salt);
    return submission;
  }
  int32_t admit(Sequence& sequence) {
    kvcache::BlockTable table = pool_.new_table(16);
    const int32_t cached = sharing_.attach(sequence, table);
    while (table.count() < pool_.growth().blocks_for(sequence.prompt_length())) table.take();
    sequence.admit(std::move(table), cached, 0);
    sharing_.begin(sequence);
    return cached;
  }
  void compute(Sequence& sequence, int32_t length) {
    const int32_t before = sequence.computed_count();
    while (sequence.table().count() < pool_.growth().blocks_for(before + length)) sequence.take_block();
    sequence.plan_slice(length, std::nullopt);
    sequence.advance(length);
    sharing_.publish(sequence, before);
  }

  kvcache::BlockHasher hasher_ = test_hasher();
  kvcache::SharedBlockPool pool_;
  PrefixSharing sharing_{pool_, hasher_, false};
};

TEST_F(Sharing, FindsNothingWithoutKeysOrInAnotherSalt) {
  const Submission first = submission_of(1, 12, 12);
  Submission without = submission_of(2, 12, 12);
  without.prefix_keys.reset();
  const Submission elsewhere = submission_of(3, 12, 12, "salt");
  Sequence a(first, 0);
  Sequence b(without, 0);
  Sequence c(elsewhere, 0);
  admit(a);
  compute(a, 12);
  EXPECT_EQ(admit(b), 0);
  EXPECT_EQ(admit(c), 0);
}

TEST_F(Sharing, FindsWholeBlocksAndNeverTheLastToken) {
  const Submission first = submission_of(1, 12, 12);
  Sequence a(first, 0);
  admit(a);
  compute(a, 12);
  for (const auto& [length, found] : {std::pair{3, 0}, {4, 0}, {5, 4}, {8, 4}, {9, 8}, {12, 8}, {13, 12}}) {
    const Submission other = submission_of(2, length, 12);
    Sequence b(other, 0);
    EXPECT_EQ(sharing_.known_blocks(b) * kBlockSize, found) << length;
    EXPECT_EQ(admit(b), found) << length;
  }
}

TEST_F(Sharing, FindsOnlyWhatHasBeenComputed) {
  const Submission first = submission_of(1, 12, 12);
  const Submission second = submission_of(2, 12, 8);
  Sequence a(first, 0);
  Sequence b(second, 0);
  admit(a);
  EXPECT_EQ(sharing_.known_blocks(b), 0);
  compute(a, 3);
  EXPECT_EQ(sharing_.known_blocks(b), 0);
  compute(a, 1);
  EXPECT_EQ(sharing_.known_blocks(b), 1);
  compute(a, 8);
  EXPECT_EQ(sharing_.known_blocks(b), 2) << "the third block is another one";
}

TEST_F(Sharing, LetsOneThatScoresItsPromptComputeItAll) {
  const Submission first = submission_of(1, 12, 12);
  Submission second = submission_of(2, 12, 12);
  second.score_prompt = true;
  second.sequence_count = 2;
  Sequence a(first, 0);
  Sequence scoring(second, 0);
  Sequence sibling(second, 1);
  admit(a);
  compute(a, 12);
  EXPECT_EQ(admit(scoring), 0);
  EXPECT_EQ(admit(sibling), 8);
}

TEST_F(Sharing, KnowsWhoIsComputingTheNextBlock) {
  const Submission first = submission_of(1, 14, 12);
  const Submission second = submission_of(2, 14, 8);
  const Submission stranger = submission_of(3, 14, 0);
  Sequence a(first, 0);
  Sequence b(second, 0);
  Sequence c(stranger, 0);
  admit(a);
  EXPECT_TRUE(sharing_.is_computing_for(a, b, 0));
  EXPECT_FALSE(sharing_.is_computing_for(a, c, 0));
  compute(a, 4);
  EXPECT_TRUE(sharing_.is_computing_for(a, b, 1));
  compute(a, 4);
  EXPECT_FALSE(sharing_.is_computing_for(a, b, 2)) << "the third block is another one";
  EXPECT_FALSE(sharing_.is_computing_for(a, a, 3)) << "nothing more is to be found";
}

TEST_F(Sharing, PublishesPromptsAndAnswersOnlyWhenTold) {
  for (const bool reuses_outputs : {false, true}) {
    kvcache::SharedBlockPool pool(16, kBlockSize);
    PrefixSharing sharing(pool, hasher_, reuses_outputs);
    const Submission first = submission_of(1, 6, 6);
    Sequence a(first, 0);
    kvcache::BlockTable table = pool.new_table(16);
    for (int i = 0; i < 4; ++i) table.take();
    a.admit(std::move(table), 0, 0);
    sharing.begin(a);
    a.plan_slice(6, 0);
    a.advance(6);
    sharing.publish(a, 0);
    Submission next = first;
    for (int32_t token = 70; token < 80; ++token) {
      a.append(token, false, {});
      a.plan_slice(1, 0);
      a.advance(1);
      sharing.publish(a, a.computed_count() - 1);
      next.prompt.push_back(token);
    }
    next.id = {2};
    add_prefix_keys(next, hasher_, kBlockSize);
    Sequence b(next, 0);
    EXPECT_EQ(sharing.known_blocks(b), reuses_outputs ? 3 : 1) << "15 of 16 tokens may be found";
    a.finish({});
  }
}

/// A ring of 8 blocks, 32 tokens.
class WindowedSharing : public Sharing {
 protected:
  WindowedSharing()
      : Sharing({.block_size = kBlockSize, .full_groups = 0, .window_groups = 1, .ring_blocks = 8, .window = 22}) {}
};

TEST_F(WindowedSharing, FindsAndPublishesWithinTheRings) {
  const Submission first = submission_of(1, 12, 12);  // 32 tokens with its answer
  const Submission second = submission_of(2, 12, 12);
  Sequence a(first, 0);
  Sequence b(second, 0);
  admit(a);
  EXPECT_TRUE(sharing_.is_computing_for(a, b, 0));
  compute(a, 12);
  EXPECT_EQ(admit(b), 8);
}

TEST_F(WindowedSharing, PublishesNothingThatWillBeOverwritten) {
  const Submission first = submission_of(1, 13, 12);
  const Submission second = submission_of(2, 12, 12);
  Sequence a(first, 0);
  Sequence b(second, 0);
  admit(a);
  EXPECT_FALSE(sharing_.is_computing_for(a, b, 0)) << "who waits for it would find nothing";
  compute(a, 13);
  EXPECT_EQ(sharing_.known_blocks(b), 0);
}

TEST_F(WindowedSharing, FindsNothingForOneWhoWouldOverwriteIt) {
  const Submission first = submission_of(1, 12, 12);
  const Submission second = submission_of(2, 13, 12);
  Sequence a(first, 0);
  Sequence b(second, 0);
  admit(a);
  EXPECT_FALSE(sharing_.is_computing_for(a, b, 0));
  compute(a, 12);
  EXPECT_EQ(sharing_.known_blocks(b), 0);
  EXPECT_EQ(admit(b), 0);
}

TEST_F(Sharing, ForgetsEverythingWhenTold) {
  const Submission first = submission_of(1, 12, 12);
  const Submission second = submission_of(2, 12, 12);
  Sequence a(first, 0);
  Sequence b(second, 0);
  admit(a);
  compute(a, 12);
  sharing_.forget();
  EXPECT_EQ(sharing_.known_blocks(b), 0);
}

TEST_F(Sharing, ComparesTheTokensWhereKeysAreEqual) {
  const Submission first = submission_of(1, 12, 12);
  Submission second = submission_of(2, 12, 4);
  second.prefix_keys->blocks[1] = first.prefix_keys->blocks[1];  // as if two contents had one hash
  Sequence a(first, 0);
  Sequence b(second, 0);
  admit(a);
  compute(a, 12);
  EXPECT_EQ(admit(b), 4);
}

}  // namespace
}  // namespace sluice::scheduler
