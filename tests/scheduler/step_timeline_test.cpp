#include "scheduler/step_timeline.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/kvcache/allocation_count.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

/// An entry all of whose figures follow from one number, so that a mix of two is seen.
StepEntry entry_like(int32_t value) {
  return {.ended = TimePoint(Duration(value)),
          .took = Duration(value),
          .predicted = Duration(value),
          .decode_rows = value,
          .prefill_tokens = value,
          .running = value,
          .waiting = value,
          .blocks_used = value,
          .blocks_reserved = value,
          .blocks_cached = value};
}

bool is_whole(const StepEntry& entry) {
  const auto value = static_cast<int32_t>(entry.number);
  return entry.ended == TimePoint(Duration(value)) && entry.took == Duration(value) &&
         entry.predicted == Duration(value) && entry.decode_rows == value && entry.prefill_tokens == value &&
         entry.running == value && entry.waiting == value && entry.blocks_used == value &&
         entry.blocks_reserved == value && entry.blocks_cached == value;
}

class StepTimelineTest : public ::testing::Test {
 protected:
  void append(size_t count) {
    for (size_t i = 0; i < count; ++i) timeline_->append(entry_like(static_cast<int32_t>(++appended_)));
  }

  const std::unique_ptr<StepTimeline> timeline_ = std::make_unique<StepTimeline>();
  size_t appended_ = 0;
};

TEST_F(StepTimelineTest, AnEmptyOneHasNothing) {
  EXPECT_EQ(timeline_->last_number(), 0U);
  EXPECT_TRUE(timeline_->since(0).empty());
  EXPECT_TRUE(timeline_->since(7).empty());
}

TEST_F(StepTimelineTest, NothingComesAfterTheNewestOrAfterOneThatNeverWas) {
  append(3);
  EXPECT_TRUE(timeline_->since(3).empty());
  EXPECT_TRUE(timeline_->since(4).empty());
  EXPECT_TRUE(timeline_->since(UINT64_MAX).empty());
  EXPECT_TRUE(timeline_->since(0, 0).empty());
}

TEST_F(StepTimelineTest, GivesWholeEntriesAfterANumberOldestFirst) {
  append(5);
  const std::vector<StepEntry> entries = timeline_->since(2);
  ASSERT_EQ(entries.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(entries[i].number, i + 3);
    EXPECT_TRUE(is_whole(entries[i]));
  }
}

TEST_F(StepTimelineTest, OfMoreThanAskedForItGivesTheNewest) {
  append(10);
  const std::vector<StepEntry> entries = timeline_->since(1, 4);
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries.front().number, 7U);
  EXPECT_EQ(entries.back().number, 10U);
}

TEST_F(StepTimelineTest, KeepsTheLastEntriesAndNoMore) {
  append(StepTimeline::kEntries);
  EXPECT_EQ(timeline_->since(0).front().number, 1U);
  append(1);
  const std::vector<StepEntry> entries = timeline_->since(0, SIZE_MAX);
  ASSERT_EQ(entries.size(), StepTimeline::kEntries);
  EXPECT_EQ(entries.front().number, 2U);
  EXPECT_EQ(entries.back().number, StepTimeline::kEntries + 1);
}

TEST_F(StepTimelineTest, AppendingAllocatesNothing) {
  const int64_t before = kvcache::allocation_count();
  append(2 * StepTimeline::kEntries);
  EXPECT_EQ(kvcache::allocation_count(), before);
}

TEST_F(StepTimelineTest, AReaderBesideTheWriterGetsWholeEntriesInOrder) {
  constexpr size_t kSeenEnough = 200'000;
  std::atomic<bool> has_seen_enough = false;
  std::thread writer([&] {
    while (!has_seen_enough) append(1000);
  });
  for (size_t seen = 0; seen < kSeenEnough && !HasFailure();) {
    // From the oldest on: there the writer is at work.
    uint64_t last = 0;
    for (const StepEntry& entry : timeline_->since(0)) {
      EXPECT_GT(entry.number, last);
      EXPECT_TRUE(is_whole(entry)) << entry.number;
      last = entry.number;
      ++seen;
    }
  }
  has_seen_enough = true;
  writer.join();
  EXPECT_EQ(timeline_->since(0).size(), StepTimeline::kEntries) << "with nobody writing all of them are readable";
}

/// Steps that take three milliseconds each.
class TimedExecutor final : public engine::Executor {
 public:
  TimedExecutor(FakeExecutor& executor, ManualClock& clock) : executor_(executor), clock_(clock) {}
  Status launch(const engine::Batch& batch) override { return executor_.launch(batch); }
  Result<engine::StepOutput> collect() override {
    clock_.advance(std::chrono::milliseconds(3));
    return executor_.collect();
  }

 private:
  FakeExecutor& executor_;
  ManualClock& clock_;
};

TEST(ServingLoopTimeline, SaysOfEachStepWhatItComputedAndWhatItLeft) {
  ManualClock clock;
  clock.advance(std::chrono::seconds(1));
  ServingParts parts(SchedulerConfig{.max_running = 1, .max_queued_requests = 2, .tokens_per_step = 16}, 8, 4);
  TimedExecutor executor(parts.executor, clock);
  ServingLoop loop(parts.scheduler, executor, parts.mailbox, parts.sink, clock, parts.stats);
  loop.tick();
  EXPECT_EQ(parts.stats.timeline.last_number(), 0U) << "nothing to do is no step";
  ASSERT_TRUE(parts.mailbox.try_post(make_submission(1, 5, 3)));
  ASSERT_TRUE(parts.mailbox.try_post(make_submission(2, 5, 3)));
  for (int i = 0; i < 2; ++i) loop.tick();

  const std::vector<StepEntry> entries = parts.stats.timeline.since(0);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].prefill_tokens, 5);
  EXPECT_EQ(entries[0].decode_rows, 0);
  EXPECT_EQ(entries[0].running, 1);
  EXPECT_EQ(entries[0].waiting, 1);
  EXPECT_EQ(entries[0].blocks_used, 2);
  EXPECT_EQ(entries[0].blocks_reserved, 2);
  EXPECT_EQ(entries[0].took, std::chrono::milliseconds(3));
  EXPECT_EQ(entries[0].predicted, Duration::zero()) << "nothing is known yet";
  EXPECT_EQ(entries[0].ended.time_since_epoch(), std::chrono::milliseconds(1003));
  EXPECT_EQ(entries[1].prefill_tokens, 0);
  EXPECT_EQ(entries[1].decode_rows, 1);
}

TEST(ServingLoopTimeline, OnceTheModelKnowsStepsItsPredictionStandsBesideTheirTime) {
  ManualClock clock;
  ServingParts parts(SchedulerConfig{.max_running = 1, .max_queued_requests = 2, .tokens_per_step = 16});
  TimedExecutor executor(parts.executor, clock);
  ServingLoop loop(parts.scheduler, executor, parts.mailbox, parts.sink, clock, parts.stats);
  ASSERT_TRUE(parts.mailbox.try_post(make_submission(1, 3, 30)));
  for (int i = 0; i < 20; ++i) loop.tick();
  const StepEntry newest = parts.stats.timeline.since(0).back();
  EXPECT_NEAR(to_milliseconds(newest.predicted), 3, 0.1);
}

}  // namespace
}  // namespace sluice::scheduler
