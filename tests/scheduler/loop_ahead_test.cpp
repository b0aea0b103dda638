#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "scheduler/serving_loop.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;
using Events = std::vector<TokenEvent>;

/// A device that runs one step ahead: each step takes 10 ms, from its launch or from the end of the one before.
class AheadDevice final : public engine::Executor {
 public:
  AheadDevice(FakeExecutor& executor, ManualClock& clock) : executor_(executor), clock_(clock) {}

  Status launch(const engine::Batch& batch) override {
    calls_ += 'L';
    clock_.advance(launch_time_);
    const Status status = executor_.launch(batch);
    if (!status.ok()) return status;
    free_ = std::max(free_, clock_.now()) + kStepTime;
    ends_.push_back(free_);
    return {};
  }
  Result<engine::StepOutput> collect() override {
    calls_ += 'C';
    clock_.advance(std::max(Duration{}, ends_.front() - clock_.now()));
    ends_.erase(ends_.begin());
    return executor_.collect();
  }
  int32_t steps_ahead() const override { return executor_.steps_ahead(); }

  static constexpr Duration kStepTime = milliseconds(10);

  std::string calls_;
  Duration launch_time_{};

 private:
  FakeExecutor& executor_;
  ManualClock& clock_;
  TimePoint free_{};
  std::vector<TimePoint> ends_;
};

SchedulerConfig two_rows() {
  return {.max_running = 2, .max_queued_requests = 2, .tokens_per_step = 16};
}

/// Ticked by hand.
class LoopAhead : public ::testing::Test {
 protected:
  void submit(uint64_t id, int32_t prompt_length, int32_t max_new_tokens) {
    ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, prompt_length, max_new_tokens)));
  }
  void tick(int times) {
    for (int i = 0; i < times; ++i) loop_.tick();
  }
  void expect_tokens(uint64_t id, int32_t prompt_length, int32_t max_new_tokens) {
    EXPECT_EQ(tokens_of(parts_.sink.events(), id),
              solo_output(make_submission(id, prompt_length, max_new_tokens), 0, ServingParts::kVocabSize));
  }

  ManualClock clock_;
  ServingParts parts_{two_rows(), 8, 4, 1};
  AheadDevice device_{parts_.executor, clock_};
  ServingLoop loop_{parts_.scheduler, device_, parts_.mailbox, parts_.sink, clock_, parts_.stats};
};

TEST_F(LoopAhead, LaunchesTheNextStepBeforeItCollectsTheLast) {
  submit(1, 3, 4);
  tick(1);
  EXPECT_EQ(device_.calls_, "L");
  tick(1);
  EXPECT_EQ(device_.calls_, "LLC");
  tick(2);
  EXPECT_EQ(device_.calls_, "LLCLCLC");
  tick(1);
  EXPECT_EQ(device_.calls_, "LLCLCLCC") << "there is no fifth token, so no step for it";
  expect_tokens(1, 3, 4);
  EXPECT_EQ(parts_.stats.steps, 4U);
  EXPECT_EQ(parts_.stats.decode_tokens, 4U);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
  tick(1);
  EXPECT_EQ(device_.calls_, "LLCLCLCC") << "nothing is left to do";
}

TEST_F(LoopAhead, CollectsFirstWherePenaltiesLookAtTheToken) {
  Submission submission = make_submission(1, 3, 3);
  submission.sampling.presence_penalty = 0.5F;
  ASSERT_TRUE(parts_.mailbox.try_post(std::move(submission)));
  tick(7);
  EXPECT_EQ(device_.calls_, "LCLCLC");
  expect_tokens(1, 3, 3);
}

TEST_F(LoopAhead, CountsNoTokenOfOneThatHadEnded) {
  Submission submission = make_submission(1, 3, 9);
  submission.stop_token_ids = {solo_output(submission, 0, ServingParts::kVocabSize).at(1)};
  ASSERT_TRUE(parts_.mailbox.try_post(std::move(submission)));
  tick(3);
  EXPECT_EQ(count_of<SequenceFinished>(parts_.sink.events(), 1), 1);
  EXPECT_EQ(event_of<SequenceFinished>(parts_.sink.events(), 1).ledger.output_tokens, 2);
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_EQ(parts_.stats.blocks_used, 2) << "the step under way still writes there";
  tick(1);
  EXPECT_EQ(device_.calls_, "LLCLCC");
  EXPECT_EQ(parts_.stats.decode_tokens, 2U);
  EXPECT_EQ(parts_.stats.steps, 3U);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
  EXPECT_EQ(count_of<TokenSampled>(parts_.sink.events(), 1), 2);
}

TEST_F(LoopAhead, FailsEveryRequestOnceWhenAStepFailsAndCollectsTheOneBehind) {
  submit(1, 3, 4);
  submit(2, 3, 4);
  submit(3, 3, 4);
  tick(2);
  parts_.executor.fail_next_step(unavailable("the device is gone"));
  tick(1);
  for (const uint64_t id : {1U, 2U, 3U}) {
    EXPECT_EQ(count_of<RequestFailed>(parts_.sink.events(), id), 1);
    EXPECT_EQ(event_of<RequestFailed>(parts_.sink.events(), id).status.message(),
              "the engine failed: the device is gone");
  }
  EXPECT_EQ(parts_.executor.steps_under_way(), 0);
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_EQ(parts_.stats.waiting, 0);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
  EXPECT_EQ(parts_.stats.failures.total(), 1U) << "the step behind it is no failure of its own";
  EXPECT_EQ(parts_.stats.failures.last_words(), "the device is gone");

  submit(4, 3, 2);
  tick(4);
  expect_tokens(4, 3, 2);
  EXPECT_EQ(parts_.stats.failures.in_a_row(), 0);
}

TEST_F(LoopAhead, FailsEveryRequestWhenAStepCannotBeLaunchedAndCollectsTheOneUnderWay) {
  submit(1, 3, 4);
  tick(1);
  parts_.executor.fail_next_launch(unavailable("no memory for the graph"));
  tick(1);
  EXPECT_EQ(event_of<RequestFailed>(parts_.sink.events(), 1).status.message(),
            "the engine failed: no memory for the graph");
  EXPECT_EQ(count_of<TokenSampled>(parts_.sink.events(), 1), 0);
  EXPECT_EQ(parts_.executor.steps_under_way(), 0);
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_EQ(parts_.stats.blocks_used, 0);

  submit(2, 3, 2);
  tick(4);
  expect_tokens(2, 3, 2);
}

TEST_F(LoopAhead, EndsEverythingAtOnceThoughAStepIsUnderWay) {
  submit(1, 3, 9);
  submit(2, 3, 9);
  tick(2);
  parts_.mailbox.post(FailAll{unavailable("the drain time is over")});
  tick(1);
  EXPECT_EQ(count_of<RequestFailed>(parts_.sink.events()), 2);
  EXPECT_EQ(device_.calls_, "LLCC") << "nothing more is launched, and what was is collected";
  EXPECT_EQ(parts_.stats.blocks_used, 0);
}

// Planning and launching take a device's time only where it has nothing to do.
TEST_F(LoopAhead, MeasuresTheDeviceNotTheOverlap) {
  device_.launch_time_ = milliseconds(4);
  submit(1, 3, 6);
  tick(7);
  expect_tokens(1, 3, 6);
  const std::vector<StepEntry> entries = parts_.stats.timeline.since(0);
  ASSERT_EQ(entries.size(), 6U);
  EXPECT_EQ(entries[0].took, milliseconds(14)) << "the first is launched while the device waits";
  EXPECT_EQ(entries[0].prefill_tokens, 3);
  for (size_t i = 1; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].took, milliseconds(10));
    EXPECT_EQ(entries[i].decode_rows, 1);
    EXPECT_EQ(entries[i].prefill_tokens, 0);
  }
  EXPECT_EQ(clock_.now() - TimePoint{}, milliseconds(14 + 5 * 10));
  const Ledger ledger = event_of<SequenceFinished>(parts_.sink.events(), 1).ledger;
  EXPECT_EQ(ledger.prefill, milliseconds(14));
  EXPECT_EQ(ledger.decode, milliseconds(50));
}

TEST_F(LoopAhead, LearnsWhatStepsTakeOfTheDevice) {
  device_.launch_time_ = milliseconds(9);
  submit(1, 3, 28);
  tick(30);
  EXPECT_NEAR(parts_.scheduler.step_time().prices().milliseconds({.decode_rows = 1, .context_tokens = 20}), 10, 0.5);
}

/// On a thread of its own with a real clock.
class ThreadedLoopAhead : public ::testing::Test {
 protected:
  ~ThreadedLoopAhead() override { end(); }
  void end() {
    parts_.mailbox.close();
    if (thread_.joinable()) thread_.join();
  }

  SteadyClock clock_;
  ServingParts parts_{SchedulerConfig{.max_running = 4, .max_queued_requests = 64, .tokens_per_step = 16}, 64, 4, 1};
  ServingLoop loop_{parts_.scheduler, parts_.executor, parts_.mailbox, parts_.sink, clock_, parts_.stats};
  std::thread thread_{[this] { loop_.run(); }};
};

TEST_F(ThreadedLoopAhead, CollectsWhatIsUnderWayBeforeItEnds) {
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 9, 200)));
  parts_.sink.wait_until([](const Events& events) { return count_of<TokenSampled>(events) > 0; });
  parts_.mailbox.close();
  parts_.mailbox.post(FailAll{unavailable("the drain time is over")});
  end();
  const Events events = parts_.sink.events();
  EXPECT_EQ(count_of<RequestFailed>(events) + count_of<SequenceFinished>(events), 1);
  EXPECT_EQ(parts_.executor.steps_under_way(), 0);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
}

TEST_F(ThreadedLoopAhead, CancelReturnsEveryBlock) {
  for (uint64_t id = 1; id <= 30; ++id) {
    ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 5, 50)));
    parts_.mailbox.post(Cancel{.request = {id}, .sequence = std::nullopt});
  }
  end();
  EXPECT_EQ(count_of<SequenceFinished>(parts_.sink.events()), 30);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
  EXPECT_EQ(parts_.stats.blocks_reserved, 0);
}

TEST_F(ThreadedLoopAhead, GivesEachRequestTheOutputItHasAlone) {
  for (uint64_t id = 1; id <= 40; ++id) {
    ASSERT_TRUE(parts_.mailbox.try_post(
        make_submission(id, 1 + static_cast<int32_t>(id % 20), 1 + static_cast<int32_t>(id % 9))));
  }
  end();
  const Events events = parts_.sink.events();
  EXPECT_EQ(count_of<SequenceFinished>(events), 40);
  for (uint64_t id = 1; id <= 40; ++id) {
    const Submission submission =
        make_submission(id, 1 + static_cast<int32_t>(id % 20), 1 + static_cast<int32_t>(id % 9));
    EXPECT_EQ(tokens_of(events, id), solo_output(submission, 0, ServingParts::kVocabSize)) << "request " << id;
  }
}

}  // namespace
}  // namespace sluice::scheduler
