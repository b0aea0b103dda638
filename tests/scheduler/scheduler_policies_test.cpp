#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_rig.h"

namespace sluice::scheduler {
namespace {

TEST(Adaptive, AdmitsMoreThanPlanOnceAnswersAreKnownToEndEarly) {
  const auto running_of = [](const std::string& policy) {
    SchedulerConfig config = small_config(64, 100);
    config.admission = policy;
    SchedulerRig rig(config, 64, 4);
    for (uint64_t id = 1; id <= 40; ++id) rig.submit(ending_after(id, 4, 60, 4));
    rig.finish();
    for (uint64_t id = 101; id <= 140; ++id) rig.submit(ending_after(id, 4, 60, 4));
    for (int i = 0; i < 3; ++i) rig.tick();
    const int32_t running = rig.scheduler_.running_count();
    rig.finish();
    EXPECT_EQ(rig.scheduler_.totals().pauses, 0U);
    return running;
  };
  EXPECT_EQ(running_of("reserve"), 4);  // 16 blocks each at their caps, 64 there are
  EXPECT_GE(running_of("plan"), 4);
  EXPECT_GE(running_of("adaptive"), 2 * running_of("plan"));
}

TEST(Adaptive, LearnsFromAnswersThatEndAtAStopString) {
  SchedulerRig rig(small_config(64, 100), 64, 4);
  for (uint64_t id = 1; id <= 40; ++id) rig.submit(make_submission(id, 4, 60));
  const auto stop_after = [&](size_t length) {
    std::vector<RequestId> ended;
    for (const RunningRow& row : rig.scheduler_.running()) {
      if (row.sequence->output().size() >= length) ended.push_back(row.request->id());
    }
    for (const RequestId id : ended) rig.scheduler_.cancel({.request = id, .sequence = 0}, rig.clock_.now());
  };
  for (int i = 0; i < 200 && rig.scheduler_.has_work(); ++i) {
    rig.tick();
    stop_after(4);
  }
  ASSERT_FALSE(rig.scheduler_.has_work());
  for (uint64_t id = 101; id <= 140; ++id) rig.submit(make_submission(id, 4, 60));
  for (int i = 0; i < 3; ++i) rig.tick();
  EXPECT_GE(rig.scheduler_.running_count(), 8) << "4 at their caps fill the cache";
  rig.scheduler_.fail_all(unavailable("over"), rig.clock_.now());
}

// X owns 10 blocks, of which C would share 8 and then own 1 itself; Y owns 5. With C there are 12 free. X can get to
// its cap with 10 of them and then gives back the 2 that are its own, and neither Y can get its 15 nor C
// its 17 from 14.
TEST(Adaptive, KnowsThatWhoSharesGivesBackLess) {
  SchedulerConfig config = small_config(8, 100);
  config.tokens_per_step = 512;
  SchedulerRig rig(config, 28, 16);
  for (uint64_t id = 1; id <= 40; ++id) rig.submit(ending_after(id, 4, 16, 4));
  rig.finish();
  const Submission x = make_submission(100, 160, 160);
  Submission c = make_submission(100, 144, 272);
  c.id = {102};
  std::fill(c.prompt.begin() + 128, c.prompt.end(), 5);
  rig.submit_with_keys(x);
  rig.submit(make_submission(101, 80, 240));
  rig.tick();
  EXPECT_EQ(rig.scheduler_.running_count(), 2);
  const auto running_with = [&](int32_t cap) {
    c.max_new_tokens = cap;
    rig.submit_with_keys(c);
    rig.tick();
    const int32_t running = rig.scheduler_.running_count();
    rig.scheduler_.cancel({.request = c.id, .sequence = std::nullopt}, rig.clock_.now());
    return running;
  };
  EXPECT_EQ(running_with(272), 2);
  EXPECT_EQ(running_with(208), 3) << "its 13 are there after X, and with its own block Y finds 15";
  rig.finish();
}

/// A has 9 blocks and ends with its token number `cap`; B has the 8 others, and after its 6th token can't go on without
/// another one. C waits, and is admitted only where nobody is paused: its cap and B's don't fit together, though
/// answers are known to end at once. Steps are planned ahead, and committed with made-up tokens.
class AdaptiveAhead : public ::testing::Test {
 protected:
  static SchedulerConfig careless_config() {
    SchedulerConfig config = small_config(64, 100);
    config.pause_target = 0.5;  // the margin is soon 0, so means alone decide
    return config;
  }
  void begin(int32_t cap) {
    for (uint64_t id = 1; id <= 60; ++id) rig_.submit(ending_after(id, 4, 12, 1));
    rig_.finish();
    for (int i = 0; i < 20; ++i) rig_.tick();  // until lengths are estimated anew
    rig_.submit(make_submission(101, 36 - cap, cap));
    rig_.submit(make_submission(102, 27, 30));
    rig_.submit(make_submission(103, 4, 40));
    under_way_ = &plan();
  }
  const StepPlan& plan() { return rig_.scheduler_.plan(rig_.clock_.now()); }
  /// Ends the step under way.
  void commit() {
    engine::StepOutput output;
    output.samples.resize(static_cast<size_t>(under_way_->samples));
    rig_.clock_.advance(std::chrono::milliseconds(10));
    rig_.scheduler_.commit(*under_way_, std::move(output), rig_.clock_.now());
  }
  /// Plans so many steps, each while the one before it is under way.
  void go_ahead(int steps) {
    for (int i = 0; i < steps; ++i) {
      const StepPlan& next = plan();
      ASSERT_FALSE(next.empty());
      commit();
      under_way_ = &next;
    }
  }

  SchedulerRig rig_{careless_config(), 17, 4};
  const StepPlan* under_way_ = nullptr;
};

TEST_F(AdaptiveAhead, NobodyIsPausedWhereAPlanIsEmptyOnlyUntilTheStepUnderWayIsOver) {
  begin(6);
  go_ahead(5);
  ASSERT_EQ(under_way_->decode_rows, 2);
  ASSERT_TRUE(plan().empty()) << "A draws its last token, and B waits for A's blocks";
  commit();
  EXPECT_EQ(plan().decode_rows, 1);
  EXPECT_EQ(rig_.scheduler_.totals().pauses, 0U);
  EXPECT_EQ(rig_.scheduler_.running_count(), 2) << "C is beside B";
}

TEST_F(AdaptiveAhead, NobodyMoreIsAdmittedRightAfterAStepThatLeftSomebodyOut) {
  begin(7);
  go_ahead(6);
  ASSERT_EQ(under_way_->paused_rows, 1);
  ASSERT_TRUE(plan().empty());
  commit();
  EXPECT_EQ(plan().decode_rows, 1);
  EXPECT_EQ(rig_.scheduler_.totals().pauses, 1U);
  EXPECT_EQ(rig_.scheduler_.running_count(), 1) << "B had no row in the last step";
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

// Short ones keep coming; one that needs the whole cache still has its turn.
TEST_P(EveryPolicy, StarvesNobodyWhoNeedsTheWholeCache) {
  SchedulerConfig config = small_config(8, 1000);
  config.admission = GetParam();
  SchedulerRig rig(config, 16, 4);
  uint64_t id = 1;
  const auto tick = [&] {
    for (int i = 0; i < 2; ++i, ++id) rig.submit(ending_after(id, 4, 12, 1 + id % 6));
    rig.tick();
  };
  for (int i = 0; i < 40; ++i) tick();
  rig.submit(make_submission(100'000, 40, 24));
  const auto waiting_before = rig.scheduler_.waiting_count();
  for (int i = 0; i < 400 && count_of<SequenceFinished>(rig.events_, 100'000) == 0; ++i) tick();
  EXPECT_EQ(count_of<SequenceFinished>(rig.events_, 100'000), 1) << waiting_before << " were before it";
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::Values("reserve", "plan", "adaptive"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::scheduler
