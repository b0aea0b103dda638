#include "scheduler/batch_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

using ::testing::ElementsAre;

constexpr int32_t kBlockSize = 4;

Submission submission_of(uint64_t id, std::vector<int32_t> prompt, int32_t max_new_tokens) {
  Submission submission;
  submission.id = {id};
  submission.prompt = std::move(prompt);
  submission.seed = 100 + id;
  submission.max_new_tokens = max_new_tokens;
  return submission;
}

/// What an executor would answer if it always drew `token`.
engine::StepOutput answer_of(const engine::Batch& batch, int32_t token) {
  engine::StepOutput output;
  output.samples.resize(batch.samples.size());
  for (engine::SampledToken& sample : output.samples) sample.token = token;
  return output;
}

class BatchBuilder : public ::testing::Test {
 protected:
  explicit BatchBuilder(const kvcache::BlockGrowth& growth = {kBlockSize}) : pool_(16, growth) {}

  const StepPlan& plan() {
    const StepPlan& plan = scheduler_.plan({});
    build_batch(plan, pool_.growth(), batch_);
    return plan;
  }

  kvcache::BlockHasher hasher_ = test_hasher();
  kvcache::SharedBlockPool pool_;
  Scheduler scheduler_{{.max_running = 4, .max_queued_requests = 4, .tokens_per_step = 8}, pool_, hasher_, false};
  engine::Batch batch_;
};

TEST_F(BatchBuilder, WritesADecodeRowAndAPromptChunkInOneForm) {
  scheduler_.submit(submission_of(1, {11, 12, 13, 14}, 3), {});
  const StepPlan& first = plan();
  scheduler_.commit(first, answer_of(batch_, 15), {});
  scheduler_.submit(submission_of(2, {21, 22, 23, 24, 25, 26, 27, 28, 29}, 1), {});
  plan();

  EXPECT_THAT(batch_.token_ids, ElementsAre(15, 21, 22, 23, 24, 25, 26, 27));
  EXPECT_THAT(batch_.positions, ElementsAre(4, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(batch_.block_ids, ElementsAre(0, 4, 1, 2, 3)) << "a prompt has its blocks from its admission on";
  EXPECT_THAT(batch_.slots, ElementsAre(16, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(batch_.row_begin, ElementsAre(0, 1, 8));
  EXPECT_THAT(batch_.context_lengths, ElementsAre(5, 7));
  EXPECT_THAT(batch_.table_begin, ElementsAre(0, 2, 5));
  EXPECT_EQ(batch_.decode_rows, 1);

  ASSERT_EQ(batch_.samples.size(), 1U);  // the chunk does not reach the end of its prompt
  const engine::SampleRow& draw = batch_.samples[0];
  EXPECT_EQ(draw.token_index, 0);
  EXPECT_EQ(draw.scored_token, -1);
  EXPECT_EQ(draw.position, 5U);
  EXPECT_EQ(draw.seed, 101U);
  EXPECT_THAT(draw.prompt, ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(draw.output, ElementsAre(15));
}

/// Rings of 3 blocks, for slices of 4 tokens.
class WindowedBatchBuilder : public BatchBuilder {
 protected:
  WindowedBatchBuilder()
      : BatchBuilder({.block_size = kBlockSize, .window_groups = 1, .ring_blocks = 3, .window = 6}) {}
};

TEST_F(WindowedBatchBuilder, WritesSlotsAndTablesOfEachGroup) {
  scheduler_.submit(submission_of(1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 3), {});
  for (int i = 0; i < 3; ++i) {
    const StepPlan& chunk = plan();
    scheduler_.commit(chunk, answer_of(batch_, 0), {});
  }
  scheduler_.submit(submission_of(2, {21, 22}, 1), {});
  plan();

  EXPECT_THAT(batch_.token_ids, ElementsAre(13, 14, 21, 22));
  EXPECT_THAT(batch_.positions, ElementsAre(12, 13, 0, 1));
  EXPECT_THAT(batch_.table_begin, ElementsAre(0, 4, 5));
  // The first has blocks 0, 2, 4 and 6 for its context; 1, 3 and 5 are its ring, where the fourth comes over the first.
  EXPECT_THAT(batch_.block_ids, ElementsAre(0, 2, 4, 6, 7, /* ring */ 1, 3, 5, 1, 8));
  EXPECT_THAT(batch_.slots, ElementsAre(24, 25, 28, 29, /* ring */ 4, 5, 32, 33));
  EXPECT_THAT(batch_.row_begin, ElementsAre(0, 2, 4));
  EXPECT_THAT(batch_.context_lengths, ElementsAre(14, 2));
}

TEST_F(WindowedBatchBuilder, GivesATableOfTheWholeContextWhereAllIsARing) {
  const kvcache::BlockGrowth ring{
      .block_size = kBlockSize, .full_groups = 0, .window_groups = 1, .ring_blocks = 2, .window = 4};
  kvcache::SharedBlockPool pool(2, ring);
  Scheduler scheduler({.max_running = 1, .tokens_per_step = 8}, pool, hasher_, false);
  scheduler.submit(submission_of(1, {1, 2, 3, 4, 5, 6, 7, 8}, 9), {});
  for (int i = 0; i < 12; ++i) {
    const StepPlan& step = scheduler.plan({});
    build_batch(step, ring, batch_);
    scheduler.commit(step, answer_of(batch_, 0), {});
  }
  EXPECT_THAT(batch_.positions, ElementsAre(15));
  EXPECT_THAT(batch_.block_ids, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(batch_.slots, ElementsAre(7));
}

TEST_F(BatchBuilder, ScoresEachPromptTokenButTheFirstAndThenDraws) {
  Submission submission = submission_of(1, {5, 6, 7}, 1);
  submission.score_prompt = true;
  submission.sampling.top_logprobs = 2;
  scheduler_.submit(std::move(submission), {});
  plan();
  ASSERT_EQ(batch_.samples.size(), 3U);
  EXPECT_EQ(batch_.samples[0].scored_token, 6);
  EXPECT_EQ(batch_.samples[1].scored_token, 7);
  EXPECT_EQ(batch_.samples[2].scored_token, -1);
  for (int32_t i = 0; i < 3; ++i) {
    const engine::SampleRow& sample = batch_.samples[static_cast<size_t>(i)];
    EXPECT_EQ(sample.token_index, i);
    EXPECT_EQ(sample.position, static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(sample.params->top_logprobs, 2);
  }
}

TEST_F(BatchBuilder, GivesSiblingsStreamsOfTheirOwn) {
  Submission submission = submission_of(1, {5, 6}, 1);
  submission.sequence_count = 3;
  scheduler_.submit(std::move(submission), {});
  plan();
  ASSERT_EQ(batch_.samples.size(), 3U);
  EXPECT_EQ(batch_.samples[0].seed, 101U);
  EXPECT_EQ(batch_.samples[1].seed, random_bits(101, 1));
  EXPECT_EQ(batch_.samples[2].seed, random_bits(101, 2));
}

TEST_F(BatchBuilder, SaysWhichSampleGivesTheTokenThatIsStillBeingDrawn) {
  Submission scoring = submission_of(1, {11, 12, 13}, 3);
  scoring.score_prompt = true;
  scheduler_.submit(std::move(scoring), {});
  const StepPlan& first = plan();
  EXPECT_TRUE(batch_.drawn_before.empty());
  scheduler_.commit(first, answer_of(batch_, 14), {});
  scheduler_.submit(submission_of(2, {21, 22, 23, 24}, 2), {});
  plan();
  EXPECT_THAT(batch_.drawn_before, ::testing::IsEmpty()) << "all tokens are known";
  scheduler_.submit(submission_of(3, {31, 32}, 1), {});
  plan();

  EXPECT_THAT(batch_.token_ids, ElementsAre(0, 0, 31, 32));
  EXPECT_THAT(batch_.positions, ElementsAre(4, 4, 0, 1));
  EXPECT_THAT(batch_.drawn_before, ElementsAre(0, 1));
  EXPECT_THAT(batch_.context_lengths, ElementsAre(5, 5, 2));
  ASSERT_EQ(batch_.samples.size(), 3U);
  EXPECT_EQ(batch_.samples[0].position, 5U);
  EXPECT_THAT(batch_.samples[0].output, ElementsAre(14));
  EXPECT_THAT(batch_.samples[1].output, ElementsAre());
}

TEST_F(BatchBuilder, CountsScoredPlacesWhenItSaysWhichSample) {
  Submission scoring = submission_of(1, {11, 12, 13}, 3);
  scoring.score_prompt = true;
  scheduler_.submit(std::move(scoring), {});
  scheduler_.submit(submission_of(2, {21}, 2), {});
  plan();
  ASSERT_EQ(batch_.samples.size(), 4U);
  plan();
  EXPECT_THAT(batch_.drawn_before, ElementsAre(2, 3));
}

TEST_F(BatchBuilder, LeavesNothingOfTheLastBatch) {
  scheduler_.submit(submission_of(1, {1, 2, 3, 4, 5, 6}, 2), {});
  const StepPlan& first = plan();
  scheduler_.commit(first, answer_of(batch_, 9), {});
  plan();
  EXPECT_THAT(batch_.token_ids, ElementsAre(9));
  EXPECT_THAT(batch_.row_begin, ElementsAre(0, 1));
  EXPECT_THAT(batch_.table_begin, ElementsAre(0, 2));
  EXPECT_EQ(batch_.samples.size(), 1U);
}

}  // namespace
}  // namespace sluice::scheduler
