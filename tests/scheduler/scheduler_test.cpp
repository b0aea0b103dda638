#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/scheduler_rig.h"

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Events = std::vector<TokenEvent>;

TEST(B22_NeverFits, a_LongRequestIsRefusedAtOnceAndTheShortOnesFinish) {
  SchedulerRig rig(small_config(8, 8), 4, 16);
  rig.submit(make_submission(1, 100, 4));
  for (uint64_t id = 2; id <= 4; ++id) rig.submit(make_submission(id, 5, 4));
  rig.tick();
  const Status refused = event_of<Refused>(rig.events_, 1).status;
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.field(), "prompt");
  EXPECT_THAT(refused.message(), HasSubstr("need 104 places in the KV cache, which has 64"));
  EXPECT_EQ(count_of<Accepted>(rig.events_, 1), 0);
  rig.finish();
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_), 3);
}

// Rings of 2 blocks: 3 blocks for each 16 tokens up to 32, and then one.
TEST(NeverFits, NamesTheTokensThatOneSequenceFindsPlacesFor) {
  const kvcache::BlockGrowth growth = windowed_growth(16, 1, 2, 8, 10);
  ASSERT_EQ(growth.ring_blocks, 2);
  SchedulerRig rig(small_config(8, 8), 8, growth);
  rig.submit(make_submission(1, 63, 2));
  rig.submit(make_submission(2, 63, 1));
  rig.finish();
  EXPECT_THAT(event_of<Refused>(rig.events_, 1).status.message(),
              HasSubstr("need 65 places in the KV cache, which has 64"));
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_, 2), 1);
}

TEST(NeverFits, IsNeverTrueWhereRingsFit) {
  SchedulerRig rig(small_config(8, 8), 2, windowed_growth(16, 0, 1, 8, 10));
  rig.submit(make_submission(1, 3000, 100));
  rig.finish();
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_, 1), 1);
}

TEST(B22_NeverFits, b_TheLastLengthThatWorksFillsTheCache) {
  SchedulerRig rig(small_config(8, 8), 4, 16);
  rig.submit(make_submission(63, 63, 1));
  rig.submit(make_submission(64, 64, 1));
  rig.submit(make_submission(65, 65, 1));
  rig.finish();
  EXPECT_EQ(tokens_of(rig.events_, 63).size(), 1U);
  EXPECT_EQ(count_of<Refused>(rig.events_, 64), 1);
  EXPECT_EQ(count_of<Refused>(rig.events_, 65), 1);
}

TEST(B22_NeverFits, d_EightSequencesInFourBlocksRunInTurns) {
  SchedulerRig rig(small_config(8, 8), 4, 16);
  Submission submission = make_submission(1, 20, 4);
  submission.sequence_count = 8;
  rig.submit(std::move(submission));
  rig.tick();
  EXPECT_EQ(rig.scheduler_.running_count(), 2);
  EXPECT_EQ(rig.scheduler_.waiting_count(), 0) << "the request has started";
  rig.finish();
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_, 1), 8);
}

TEST(B20_Siblings, a_DrawTheirOwnTokensAndTheSameOnesEachTime) {
  const auto outputs = [] {
    SchedulerRig rig(small_config(8, 8), 32, 16);
    Submission submission = make_submission(1, 4, 16);
    submission.sequence_count = 4;
    submission.seed = 7;
    submission.sampling.temperature = 1.2F;
    rig.submit(std::move(submission));
    rig.finish();
    EXPECT_EQ(event_of<SequenceFinished>(rig.events_, 1).ledger.prompt_tokens, 4);
    std::vector<std::vector<int32_t>> tokens(4);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = tokens_of(rig.events_, 1, static_cast<int32_t>(i));
    return tokens;
  };
  const auto first = outputs();
  EXPECT_EQ(first, outputs());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first[i].size(), 16U);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(first[i], first[j]);
  }
}

TEST(B20_Siblings, b_AreEqualAtTemperatureZero) {
  SchedulerRig rig(small_config(8, 8), 32, 16);
  Submission submission = make_submission(1, 4, 16);
  submission.sequence_count = 2;
  submission.sampling.temperature = 0;
  rig.submit(std::move(submission));
  rig.finish();
  EXPECT_EQ(tokens_of(rig.events_, 1, 0), tokens_of(rig.events_, 1, 1));
  EXPECT_EQ(tokens_of(rig.events_, 1, 0).size(), 16U);
}

TEST(B26_Overload, b_ThreeOfTenAreServedAndTheOthersHearWhenToComeBack) {
  SchedulerRig rig(small_config(1, 2), 64, 16);
  for (uint64_t id = 1; id <= 10; ++id) rig.submit(make_submission(id, 2, 20));
  rig.tick();
  EXPECT_EQ(count_of<Refused>(rig.events_), 7);
  for (uint64_t id = 4; id <= 10; ++id) {
    const Status status = event_of<Refused>(rig.events_, id).status;
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.retry_after_ms(), static_cast<int64_t>(id - 3) * 1000) << "a place each, by one a second";
  }
  rig.finish();
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_), 3);
  EXPECT_EQ(count_of<Accepted>(rig.events_), 3);
  EXPECT_EQ(rig.scheduler_.retry_after_ms(), 200) << "each took twenty steps of 10 ms";
}

TEST(Scheduler, WithoutAQueueServesWhatFindsARowAndRefusesTheRest) {
  SchedulerRig rig(small_config(2, 0), 64, 16);
  EXPECT_EQ(rig.scheduler_.room(), 2);
  for (uint64_t id = 1; id <= 3; ++id) rig.submit(make_submission(id, 2, 2));
  rig.tick();
  EXPECT_EQ(count_of<Refused>(rig.events_, 3), 1);
  EXPECT_EQ(rig.scheduler_.room(), 0);
  rig.finish();
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_), 2);
}

TEST(Scheduler, LedgerSaysWhoseStepsTheTimeWentTo) {
  SchedulerRig rig(small_config(1, 8), 64, 16);
  rig.submit(make_submission(1, 2, 1));
  rig.submit(make_submission(2, 100, 4));  // waits a step, prefills two, then decodes three times
  rig.finish();
  const Ledger ledger = event_of<SequenceFinished>(rig.events_, 2).ledger;
  EXPECT_EQ(ledger.queue, milliseconds(10));
  EXPECT_EQ(ledger.prefill, milliseconds(20));
  EXPECT_EQ(ledger.decode, milliseconds(30));
  EXPECT_EQ(ledger.interference, milliseconds(0));
  EXPECT_EQ(ledger.last_token - ledger.first_token, milliseconds(30));
  EXPECT_EQ(ledger.finished - ledger.arrival, milliseconds(60));
  EXPECT_EQ(ledger.prompt_tokens, 100);
  EXPECT_EQ(ledger.output_tokens, 4);
}

TEST(Scheduler, LedgerCallsSomebodyElsesPromptInterference) {
  SchedulerRig rig(small_config(4, 8), 64, 16);
  rig.submit(make_submission(1, 2, 4));
  rig.tick();
  rig.submit(make_submission(2, 100, 1));
  rig.finish();
  const Ledger ledger = event_of<SequenceFinished>(rig.events_, 1).ledger;
  EXPECT_EQ(ledger.interference, milliseconds(20));
  EXPECT_EQ(ledger.decode, milliseconds(10));
}

TEST(Scheduler, LedgerOfARequestThatNeverStartedIsAllQueue) {
  SchedulerRig rig(small_config(1, 8), 64, 16);
  rig.submit(make_submission(1, 2, 5));
  rig.tick();
  Submission late = make_submission(2, 2, 5);
  late.deadline = rig.clock_.now() + milliseconds(25);
  rig.submit(std::move(late));
  rig.finish();
  const RequestFailed& failed = event_of<RequestFailed>(rig.events_, 2);
  EXPECT_EQ(failed.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(failed.status.message(), HasSubstr("in the queue"));
  EXPECT_EQ(failed.ledger.queue, milliseconds(30)) << "noticed by the first plan after it";
  EXPECT_EQ(failed.ledger.prefill, Duration{});
  EXPECT_EQ(failed.ledger.admitted, failed.ledger.finished);
  EXPECT_EQ(failed.ledger.output_tokens, 0);
}

TEST(Scheduler, LedgerCountsPauses) {
  SchedulerConfig config = small_config(4, 8);
  config.tokens_per_step = 5;
  config.admission = "plan";
  SchedulerRig rig(config, 5, 4);
  rig.submit(make_submission(1, 4, 8));  // as in scenarios/pause_and_resume.txt
  rig.submit(make_submission(2, 8, 4));
  rig.finish();
  const Ledger ledger = event_of<SequenceFinished>(rig.events_, 1).ledger;
  EXPECT_EQ(ledger.pause, milliseconds(10));
  EXPECT_EQ(ledger.queue + ledger.prefill + ledger.decode + ledger.interference + ledger.pause,
            ledger.last_token - ledger.arrival);
  EXPECT_EQ(rig.scheduler_.totals().pauses, 1U);
  EXPECT_EQ(rig.scheduler_.totals().paused_sequences, 1U);
}

TEST(Scheduler, FailsARequestCancelledInPartThatTheQueueHasNoPlaceFor) {
  SchedulerRig rig(small_config(1, 0), 64, 16);
  rig.submit(make_submission(1, 2, 2));
  rig.tick();
  Submission pair = make_submission(2, 2, 2);
  pair.sequence_count = 2;
  rig.submit(std::move(pair));
  rig.scheduler_.cancel({.request = {2}, .sequence = 1}, rig.clock_.now());
  rig.finish();
  EXPECT_EQ(event_of<SequenceFinished>(rig.events_, 2).sequence, 1);
  EXPECT_EQ(event_of<RequestFailed>(rig.events_, 2).status.code(), StatusCode::kResourceExhausted);
}

TEST(SchedulerDeathTest, RefusesMisuse) {
  SchedulerRig rig(small_config(2, 2), 4, 16);
  EXPECT_DEATH(rig.submit(make_submission(1, 0, 1)), "prompt.empty");
  EXPECT_DEATH(rig.submit(make_submission(1, 1, -1)), "max_new_tokens >= 0");
  rig.submit(make_submission(1, 2, 2));
  EXPECT_DEATH(rig.submit(make_submission(1, 2, 2)), "is_new");
  const StepPlan& plan = rig.scheduler_.plan({});
  EXPECT_DEATH(rig.scheduler_.commit(plan, {}, {}), "samples.size");
  engine::StepOutput too_many;
  too_many.samples.resize(2);
  EXPECT_DEATH(rig.scheduler_.commit(plan, too_many, {}), "samples.size");
  const StepPlan& ahead = rig.scheduler_.plan({});
  EXPECT_DEATH(rig.scheduler_.plan({}), "may_plan");
  EXPECT_DEATH(rig.scheduler_.commit(ahead, {}, {}), "oldest");
  rig.scheduler_.fail_step(unavailable("over"), {});
}

TEST(SchedulerDeathTest, RefusesAConfigurationThatIsNotValid) {
  kvcache::SharedBlockPool pool(4, 16);
  const kvcache::BlockHasher hasher = test_hasher();
  EXPECT_DEATH(Scheduler(small_config(0, 1), pool, hasher, false), "validate");
}

}  // namespace
}  // namespace sluice::scheduler
