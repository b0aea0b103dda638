#include "scheduler/serving_loop.h"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

using Events = std::vector<TokenEvent>;

/// A loop that the test ticks by hand under a manual clock.
class HandTickedLoop : public ::testing::Test {
 protected:
  ManualClock clock_;
  ServingParts parts_{SchedulerConfig{.max_running = 2, .max_queued_requests = 2, .tokens_per_step = 16}, 8, 4};
  ServingLoop loop_{parts_.scheduler, parts_.executor, parts_.mailbox, parts_.sink, clock_, parts_.stats};
};

TEST_F(HandTickedLoop, FailsEveryRequestWithInternalWhenTheEngineFailsAndGoesOn) {
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 3, 4)));
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(2, 3, 4)));
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(3, 3, 4)));
  loop_.tick();
  parts_.executor.fail_next_step(unavailable("the device is gone"));
  loop_.tick();
  for (const uint64_t id : {1U, 2U, 3U}) {
    const Status status = event_of<RequestFailed>(parts_.sink.events(), id).status;
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_EQ(status.message(), "the engine failed: the device is gone");
  }
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_EQ(parts_.stats.waiting, 0);
  EXPECT_EQ(parts_.stats.blocks_used, 0);

  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(4, 3, 1)));
  loop_.tick();
  EXPECT_EQ(count_of<SequenceFinished>(parts_.sink.events(), 4), 1);
}

TEST_F(HandTickedLoop, CountsStepsThatFailAndThoseInARowUntilOneSucceeds) {
  EXPECT_EQ(parts_.stats.failures.last_words(), "");
  for (uint64_t id = 1; id <= 4; ++id) {
    const std::string words = "failure " + std::to_string(id);
    id % 2 == 0 ? parts_.executor.fail_next_launch(unavailable(words))
                : parts_.executor.fail_next_step(unavailable(words));
    ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 3, 1)));
    loop_.tick();
    EXPECT_EQ(count_of<RequestFailed>(parts_.sink.events(), id), 1) << "each request is tried";
    EXPECT_EQ(parts_.stats.failures.in_a_row(), static_cast<int32_t>(id));
    EXPECT_EQ(parts_.stats.failures.total(), id);
    EXPECT_EQ(parts_.stats.failures.last_words(), words);
  }
  loop_.tick();
  EXPECT_EQ(parts_.stats.failures.in_a_row(), 4) << "a turn without a step says nothing of the engine";

  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(5, 3, 1)));
  loop_.tick();
  EXPECT_EQ(count_of<SequenceFinished>(parts_.sink.events(), 5), 1);
  EXPECT_EQ(parts_.stats.failures.in_a_row(), 0);
  EXPECT_EQ(parts_.stats.failures.total(), 4U);
  EXPECT_EQ(parts_.stats.failures.last_words(), "failure 4");
}

TEST_F(HandTickedLoop, PublishesGaugesAfterATickThatOnlyHandledACancel) {
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 5, 8)));
  loop_.tick();
  EXPECT_EQ(parts_.stats.running, 1);
  EXPECT_EQ(parts_.stats.blocks_used, 2);
  EXPECT_EQ(parts_.stats.blocks_reserved, 4);

  parts_.mailbox.post(Cancel{.request = {1}, .sequence = std::nullopt});
  loop_.tick();
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
  EXPECT_EQ(parts_.stats.blocks_reserved, 0);
  EXPECT_EQ(parts_.stats.steps, 1U);
}

TEST_F(HandTickedLoop, PublishesWhatItHasBeforeTheFirstTick) {
  EXPECT_EQ(parts_.stats.blocks_total, 8);
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_GE(parts_.stats.retry_after_ms, 1);
}

TEST_F(HandTickedLoop, CountsTokensStepsAndRefusals) {
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 5, 3)));
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(2, 33, 1)));  // 34 tokens never fit into 32 slots
  for (int i = 0; i < 5; ++i) loop_.tick();
  EXPECT_EQ(parts_.stats.steps, 3U);
  EXPECT_EQ(parts_.stats.prefill_tokens, 5U);
  EXPECT_EQ(parts_.stats.decode_tokens, 3U);
  EXPECT_EQ(parts_.stats.refused, 1U);
  EXPECT_EQ(parts_.stats.preemptions, 0U);
  EXPECT_EQ(parts_.stats.tick_began_ns, 0);
}

TEST_F(HandTickedLoop, AddsItsRefusalsToThoseOfTheFronts) {
  parts_.stats.refused = 5;
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 33, 1)));
  loop_.tick();
  loop_.tick();
  EXPECT_EQ(parts_.stats.refused, 6U);
}

TEST_F(HandTickedLoop, DeliversWhoWasTakenBeforeTheStepAndItsTokensAfterIt) {
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 2, 2)));
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(2, 2, 1)));
  loop_.tick();
  EXPECT_EQ(parts_.sink.delivery_count(), 2);
  loop_.tick();
  EXPECT_EQ(parts_.sink.delivery_count(), 3) << "nobody new: one delivery a step";
  loop_.tick();
  EXPECT_EQ(parts_.sink.delivery_count(), 3) << "nothing happened";
}

TEST_F(HandTickedLoop, B26_Overload_b_RunningPlusQueueIsTakenAndTheRestIsRefusedAtOnce) {
  int taken = 0;
  for (uint64_t id = 1; id <= 10; ++id) taken += parts_.mailbox.try_post(make_submission(id, 2, 5)) ? 1 : 0;
  EXPECT_EQ(taken, 4);  // 2 running, 2 in the queue
  loop_.tick();
  EXPECT_EQ(count_of<Refused>(parts_.sink.events()), 0);
  EXPECT_EQ(parts_.stats.running, 2);
  EXPECT_EQ(parts_.stats.waiting, 2);
  EXPECT_FALSE(parts_.mailbox.try_post(make_submission(11, 2, 5)));
}

TEST_F(HandTickedLoop, ChangesLimitsBetweenTwoSteps) {
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 2, 3)));
  loop_.tick();
  EXPECT_EQ(parts_.stats.running, 2);
  SchedulerConfig limits = parts_.scheduler.config();
  limits.max_running = 1;
  parts_.mailbox.post(SetLimits{limits});
  loop_.tick();
  EXPECT_EQ(parts_.stats.running, 2) << "who runs goes on";
  loop_.tick();
  loop_.tick();
  EXPECT_EQ(parts_.stats.running, 1);
  EXPECT_EQ(parts_.stats.waiting, 1);
}

TEST_F(HandTickedLoop, AnswersWhatWouldBecomeOfARequest) {
  ASSERT_TRUE(parts_.mailbox.try_post(Explain{make_submission(7, 33, 1)}));
  ASSERT_TRUE(parts_.mailbox.try_post(Explain{make_submission(8, 3, 1)}));
  loop_.tick();
  EXPECT_TRUE(event_of<Explained>(parts_.sink.events(), 7).explanation.never_fits);
  EXPECT_TRUE(event_of<Explained>(parts_.sink.events(), 8).explanation.is_admitted_now);
  EXPECT_EQ(parts_.stats.steps, 0U);
}

TEST_F(HandTickedLoop, GivesRoomBackWhenRequestsLeave) {
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 2, 5)));
  loop_.tick();
  parts_.mailbox.post(Cancel{.request = {3}, .sequence = std::nullopt});
  loop_.tick();
  EXPECT_TRUE(parts_.mailbox.try_post(make_submission(5, 2, 5)));
  EXPECT_FALSE(parts_.mailbox.try_post(make_submission(6, 2, 5)));
}

/// An executor that looks at the world from inside a step.
class SpyExecutor final : public engine::Executor {
 public:
  SpyExecutor(FakeExecutor& executor, std::function<void()> look) : executor_(executor), look_(std::move(look)) {}
  Status launch(const engine::Batch& batch) override {
    look_();
    return executor_.launch(batch);
  }
  Result<engine::StepOutput> collect() override { return executor_.collect(); }

 private:
  FakeExecutor& executor_;
  std::function<void()> look_;
};

TEST(ServingLoop, TellsDuringAStepWhenItBeganAndWhatRoomThePlanLeft) {
  ManualClock clock;
  clock.advance(std::chrono::seconds(5));
  ServingParts parts(SchedulerConfig{.max_running = 1, .max_queued_requests = 1, .tokens_per_step = 8});
  int looks = 0;
  SpyExecutor spy(parts.executor, [&] {
    ++looks;
    EXPECT_EQ(parts.stats.tick_began_ns, clock.now().time_since_epoch().count());
    EXPECT_EQ(parts.stats.running, 1);
    EXPECT_TRUE(parts.mailbox.try_post(make_submission(2, 2, 1)));  // the queue's one place
    EXPECT_FALSE(parts.mailbox.try_post(make_submission(3, 2, 1)));
    clock.advance(std::chrono::milliseconds(7));
  });
  ServingLoop loop(parts.scheduler, spy, parts.mailbox, parts.sink, clock, parts.stats);
  ASSERT_TRUE(parts.mailbox.try_post(make_submission(1, 2, 1)));
  loop.tick();
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(parts.stats.tick_began_ns, 0);
  EXPECT_EQ(parts.stats.last_step_ns, 7'000'000U);
}

/// Takes its time with every delivery.
class SlowSink final : public EventSink {
 public:
  explicit SlowSink(std::function<void()> pass_time) : pass_time_(std::move(pass_time)) {}
  void deliver(std::vector<TokenEvent> /*events*/) override { pass_time_(); }

 private:
  std::function<void()> pass_time_;
};

TEST(ServingLoop, TellsBesideTheStepTooWhenItsTickBegan) {
  ManualClock clock;
  clock.advance(std::chrono::seconds(5));
  const int64_t began_ns = clock.now().time_since_epoch().count();
  ServingParts parts(SchedulerConfig{.max_running = 1, .max_queued_requests = 1, .tokens_per_step = 8});
  int deliveries = 0;
  SlowSink sink([&] {
    ++deliveries;
    EXPECT_EQ(parts.stats.tick_began_ns, began_ns);
    clock.advance(std::chrono::milliseconds(7));
  });
  ServingLoop loop(parts.scheduler, parts.executor, parts.mailbox, sink, clock, parts.stats);
  ASSERT_TRUE(parts.mailbox.try_post(make_submission(1, 2, 1)));
  loop.tick();
  EXPECT_EQ(deliveries, 2) << "before the step and after it";
  EXPECT_EQ(parts.stats.tick_began_ns, 0);
}

/// A loop on its own thread with a real clock. Nothing here sleeps: everybody waits for events.
class ThreadedLoop : public ::testing::Test {
 protected:
  ~ThreadedLoop() override { end(); }
  void end() {
    parts_.mailbox.close();
    if (thread_.joinable()) thread_.join();
  }

  SteadyClock clock_;
  ServingParts parts_{SchedulerConfig{.max_running = 4, .max_queued_requests = 64, .tokens_per_step = 16}};
  ServingLoop loop_{parts_.scheduler, parts_.executor, parts_.mailbox, parts_.sink, clock_, parts_.stats};
  std::thread thread_{[this] { loop_.run(); }};
};

TEST_F(ThreadedLoop, EndsWhenTheMailboxIsClosed) {
  end();
  EXPECT_TRUE(parts_.sink.events().empty());
}

TEST_F(ThreadedLoop, FinishesWhatItHasAfterTheMailboxIsClosed) {
  for (uint64_t id = 1; id <= 20; ++id) ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 9, 12)));
  end();
  EXPECT_EQ(count_of<SequenceFinished>(parts_.sink.events()), 20);
  EXPECT_EQ(parts_.stats.running, 0);
  EXPECT_EQ(parts_.stats.blocks_used, 0);
}

TEST_F(ThreadedLoop, FailAllAfterCloseEndsTheDrain) {
  ASSERT_TRUE(parts_.mailbox.try_post(make_submission(1, 9, 200)));
  parts_.sink.wait_until([](const Events& events) { return count_of<TokenSampled>(events) > 0; });
  parts_.mailbox.close();
  parts_.mailbox.post(FailAll{unavailable("the drain time is over")});
  end();
  const Events events = parts_.sink.events();
  EXPECT_EQ(count_of<RequestFailed>(events) + count_of<SequenceFinished>(events), 1);
}

TEST_F(ThreadedLoop, WakesFromIdleForEachRequest) {
  for (uint64_t id = 1; id <= 50; ++id) {
    ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 3, 2)));
    parts_.sink.wait_until([&](const Events& events) { return count_of<SequenceFinished>(events, id) == 1; });
    EXPECT_EQ(parts_.stats.running, 0) << "whoever has seen the event sees its effect";
  }
}

TEST_F(ThreadedLoop, CancelReturnsEveryBlock) {
  for (uint64_t id = 1; id <= 30; ++id) {
    ASSERT_TRUE(parts_.mailbox.try_post(make_submission(id, 5, 50)));
    parts_.mailbox.post(Cancel{.request = {id}, .sequence = std::nullopt});
  }
  parts_.sink.wait_until([](const Events& events) { return count_of<SequenceFinished>(events) == 30; });
  EXPECT_EQ(parts_.stats.blocks_used, 0);
  EXPECT_EQ(parts_.stats.blocks_reserved, 0);
  EXPECT_EQ(parts_.stats.running, 0);
}

TEST_F(ThreadedLoop, GivesManyFrontsTheOutputOfEachRequestAlone) {
  constexpr int kFronts = 4;
  constexpr int kRequestsEach = 40;
  std::atomic<int> refused{0};
  std::vector<std::thread> fronts;
  fronts.reserve(kFronts);
  for (int front = 0; front < kFronts; ++front) {
    fronts.emplace_back([&, front] {
      for (int i = 0; i < kRequestsEach; ++i) {
        const auto id = static_cast<uint64_t>(front * kRequestsEach + i + 1);
        if (!parts_.mailbox.try_post(make_submission(id, 1 + i % 20, 1 + i % 9))) ++refused;
      }
    });
  }
  for (std::thread& front : fronts) front.join();
  end();
  const Events events = parts_.sink.events();
  EXPECT_EQ(count_of<SequenceFinished>(events) + count_of<Refused>(events) + refused, kFronts * kRequestsEach);
  for (int i = 0; i < kFronts * kRequestsEach; ++i) {
    const auto id = static_cast<uint64_t>(i + 1);
    if (count_of<SequenceFinished>(events, id) == 0) continue;
    const int place = i % kRequestsEach;
    const Submission submission = make_submission(id, 1 + place % 20, 1 + place % 9);
    EXPECT_EQ(tokens_of(events, id), solo_output(submission, 0, ServingParts::kVocabSize)) << "request " << id;
  }
}

}  // namespace
}  // namespace sluice::scheduler
