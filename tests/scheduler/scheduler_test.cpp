#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/batch_builder.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Events = std::vector<TokenEvent>;

constexpr int32_t kVocabSize = 1000;

/// A scheduler driven directly, each step taking 10 ms. Events pile up in order.
class Bench {
 public:
  Bench(const SchedulerConfig& config, int32_t block_count, int32_t block_size)
      : pool_(block_count, block_size), executor_(block_count, block_size, kVocabSize), scheduler_(config, pool_) {}

  void submit(Submission submission) {
    submission.arrival = clock_.now();
    scheduler_.submit(std::move(submission), clock_.now());
  }
  void tick() {
    const StepPlan& plan = scheduler_.plan(clock_.now());
    if (!plan.empty()) {
      build_batch(plan, pool_.block_size(), batch_);
      engine::StepOutput output = executor_.step(batch_).value();
      clock_.advance(milliseconds(10));
      scheduler_.commit(plan, std::move(output), clock_.now());
    }
    for (TokenEvent& event : scheduler_.take_events()) events_.push_back(std::move(event));
  }
  /// Ticks until nothing is alive; at most `ticks` times.
  void finish(int ticks = 1000) {
    while (scheduler_.has_work() && ticks-- > 0) tick();
    EXPECT_FALSE(scheduler_.has_work()) << "no end";
    EXPECT_EQ(pool_.counts().used, 0);
    EXPECT_EQ(pool_.counts().reserved, 0);
    EXPECT_EQ(scheduler_.waiting_count(), 0);
  }

  ManualClock clock_;
  kvcache::BlockPool pool_;
  FakeExecutor executor_;
  Scheduler scheduler_;
  engine::Batch batch_;
  Events events_;
};

SchedulerConfig small_config(int32_t max_running, int32_t max_queued) {
  SchedulerConfig config;
  config.max_running = max_running;
  config.max_queued_requests = max_queued;
  config.tokens_per_step = 64;
  return config;
}

TEST(B22_NeverFits, a_LongRequestIsRefusedAtOnceAndTheShortOnesFinish) {
  Bench bench(small_config(8, 8), 4, 16);
  bench.submit(make_submission(1, 100, 4));
  for (uint64_t id = 2; id <= 4; ++id) bench.submit(make_submission(id, 5, 4));
  bench.tick();
  const Status refused = event_of<Refused>(bench.events_, 1).status;
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.field(), "prompt");
  EXPECT_THAT(refused.message(), HasSubstr("need 104 places in the KV cache, which has 64"));
  EXPECT_EQ(count_of<Accepted>(bench.events_, 1), 0);
  bench.finish();
  EXPECT_EQ(count_of<SequenceFinished>(bench.events_), 3);
}

TEST(B22_NeverFits, b_TheLastLengthThatWorksFillsTheCache) {
  Bench bench(small_config(8, 8), 4, 16);
  bench.submit(make_submission(63, 63, 1));
  bench.submit(make_submission(64, 64, 1));
  bench.submit(make_submission(65, 65, 1));
  bench.finish();
  EXPECT_EQ(tokens_of(bench.events_, 63).size(), 1U);
  EXPECT_EQ(count_of<Refused>(bench.events_, 64), 1);
  EXPECT_EQ(count_of<Refused>(bench.events_, 65), 1);
}

TEST(B22_NeverFits, d_EightSequencesInFourBlocksRunInTurns) {
  Bench bench(small_config(8, 8), 4, 16);
  Submission submission = make_submission(1, 20, 4);
  submission.sequence_count = 8;
  bench.submit(std::move(submission));
  bench.tick();
  EXPECT_EQ(bench.scheduler_.running_count(), 2);
  EXPECT_EQ(bench.scheduler_.waiting_count(), 0) << "the request has started";
  bench.finish();
  EXPECT_EQ(count_of<SequenceFinished>(bench.events_, 1), 8);
}

TEST(B20_Siblings, a_DrawTheirOwnTokensAndTheSameOnesEachTime) {
  const auto outputs = [] {
    Bench bench(small_config(8, 8), 32, 16);
    Submission submission = make_submission(1, 4, 16);
    submission.sequence_count = 4;
    submission.seed = 7;
    submission.sampling.temperature = 1.2F;
    bench.submit(std::move(submission));
    bench.finish();
    EXPECT_EQ(event_of<SequenceFinished>(bench.events_, 1).ledger.prompt_tokens, 4);
    std::vector<std::vector<int32_t>> tokens(4);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = tokens_of(bench.events_, 1, static_cast<int32_t>(i));
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
  Bench bench(small_config(8, 8), 32, 16);
  Submission submission = make_submission(1, 4, 16);
  submission.sequence_count = 2;
  submission.sampling.temperature = 0;
  bench.submit(std::move(submission));
  bench.finish();
  EXPECT_EQ(tokens_of(bench.events_, 1, 0), tokens_of(bench.events_, 1, 1));
  EXPECT_EQ(tokens_of(bench.events_, 1, 0).size(), 16U);
}

TEST(B26_Overload, b_ThreeOfTenAreServedAndTheOthersHearWhenToComeBack) {
  Bench bench(small_config(1, 2), 64, 16);
  for (uint64_t id = 1; id <= 10; ++id) bench.submit(make_submission(id, 2, 20));
  bench.tick();
  EXPECT_EQ(count_of<Refused>(bench.events_), 7);
  for (uint64_t id = 4; id <= 10; ++id) {
    const Status status = event_of<Refused>(bench.events_, id).status;
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.retry_after_ms(), static_cast<int64_t>(id - 3) * 1000) << "a place each, by one a second";
  }
  bench.finish();
  EXPECT_EQ(count_of<SequenceFinished>(bench.events_), 3);
  EXPECT_EQ(count_of<Accepted>(bench.events_), 3);
  EXPECT_EQ(bench.scheduler_.retry_after_ms(), 200) << "each took twenty steps of 10 ms";
}

TEST(Scheduler, WithoutAQueueServesWhatFindsARowAndRefusesTheRest) {
  Bench bench(small_config(2, 0), 64, 16);
  EXPECT_EQ(bench.scheduler_.room(), 2);
  for (uint64_t id = 1; id <= 3; ++id) bench.submit(make_submission(id, 2, 2));
  bench.tick();
  EXPECT_EQ(count_of<Refused>(bench.events_, 3), 1);
  EXPECT_EQ(bench.scheduler_.room(), 0);
  bench.finish();
  EXPECT_EQ(count_of<SequenceFinished>(bench.events_), 2);
}

TEST(Scheduler, LedgerSaysWhoseStepsTheTimeWentTo) {
  Bench bench(small_config(1, 8), 64, 16);
  bench.submit(make_submission(1, 2, 1));
  bench.submit(make_submission(2, 100, 4));  // waits a step, prefills two, then decodes three times
  bench.finish();
  const Ledger ledger = event_of<SequenceFinished>(bench.events_, 2).ledger;
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
  Bench bench(small_config(4, 8), 64, 16);
  bench.submit(make_submission(1, 2, 4));
  bench.tick();
  bench.submit(make_submission(2, 100, 1));
  bench.finish();
  const Ledger ledger = event_of<SequenceFinished>(bench.events_, 1).ledger;
  EXPECT_EQ(ledger.interference, milliseconds(20));
  EXPECT_EQ(ledger.decode, milliseconds(10));
}

TEST(Scheduler, LedgerOfARequestThatNeverStartedIsAllQueue) {
  Bench bench(small_config(1, 8), 64, 16);
  bench.submit(make_submission(1, 2, 5));
  Submission late = make_submission(2, 2, 5);
  late.deadline = bench.clock_.now() + milliseconds(25);
  bench.submit(std::move(late));
  bench.finish();
  const RequestFailed& failed = event_of<RequestFailed>(bench.events_, 2);
  EXPECT_EQ(failed.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(failed.status.message(), HasSubstr("in the queue"));
  EXPECT_EQ(failed.ledger.queue, milliseconds(30)) << "noticed by the first plan after it";
  EXPECT_EQ(failed.ledger.prefill, Duration{});
  EXPECT_EQ(failed.ledger.admitted, failed.ledger.finished);
  EXPECT_EQ(failed.ledger.output_tokens, 0);
}

TEST(Scheduler, FailsARequestCancelledInPartThatTheQueueHasNoPlaceFor) {
  Bench bench(small_config(1, 0), 64, 16);
  bench.submit(make_submission(1, 2, 2));
  bench.tick();
  Submission pair = make_submission(2, 2, 2);
  pair.sequence_count = 2;
  bench.submit(std::move(pair));
  bench.scheduler_.cancel({.request = {2}, .sequence = 1}, bench.clock_.now());
  bench.finish();
  EXPECT_EQ(event_of<SequenceFinished>(bench.events_, 2).sequence, 1);
  EXPECT_EQ(event_of<RequestFailed>(bench.events_, 2).status.code(), StatusCode::kResourceExhausted);
}

TEST(SchedulerDeathTest, RefusesMisuse) {
  Bench bench(small_config(2, 2), 4, 16);
  EXPECT_DEATH(bench.submit(make_submission(1, 0, 1)), "prompt.empty");
  EXPECT_DEATH(bench.submit(make_submission(1, 1, -1)), "max_new_tokens >= 0");
  bench.submit(make_submission(1, 2, 2));
  EXPECT_DEATH(bench.submit(make_submission(1, 2, 2)), "is_new");
  const StepPlan& plan = bench.scheduler_.plan({});
  EXPECT_DEATH(bench.scheduler_.plan({}), "is_step_open_");
  EXPECT_DEATH(bench.scheduler_.cancel({.request = {1}, .sequence = std::nullopt}, {}), "is_step_open_");
  EXPECT_DEATH(bench.scheduler_.commit(plan, {}, {}), "count <= samples.size");
  engine::StepOutput too_many;
  too_many.samples.resize(2);
  EXPECT_DEATH(bench.scheduler_.commit(plan, too_many, {}), "samples.empty");
  bench.scheduler_.fail_all(unavailable("over"), {});
}

TEST(SchedulerDeathTest, RefusesAConfigurationThatIsNotValid) {
  kvcache::BlockPool pool(4, 16);
  EXPECT_DEATH(Scheduler(small_config(0, 1), pool), "validate");
}

}  // namespace
}  // namespace sluice::scheduler
