#include <algorithm>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_rig.h"

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Events = std::vector<TokenEvent>;

/// One whose steps take 10 ms and 100 us a prompt token, and whose scheduler has seen enough of them to know.
struct TimedRig : SchedulerRig {
  explicit TimedRig(const SchedulerConfig& config) : SchedulerRig(config, 1024, 16) {
    time_per_prompt_token_ = std::chrono::microseconds(100);
    for (uint64_t id = 1; id <= 30; ++id) {
      submit(ending_after(900 + id, static_cast<int32_t>(10 + 7 * id), 40, 5 + id % 3));
      submit(ending_after(950 + id, 5, 40, 5 + id % 3));
      finish();
    }
    events_.clear();
  }
};

SchedulerConfig timed_config(double tpot_target_ms) {
  SchedulerConfig config = small_config(8, 64);
  config.tokens_per_step = 512;
  config.tpot_target_ms = tpot_target_ms;
  return config;
}

/// The longest time from one token to the next.
Duration longest_gap(const Events& events, uint64_t id) {
  std::optional<TimePoint> last;
  Duration longest{};
  for (const TokenEvent& event : events) {
    const auto* sampled = std::get_if<TokenSampled>(&event.what);
    if (sampled == nullptr || event.request.value != id) continue;
    if (last) longest = std::max(longest, sampled->time - *last);
    last = sampled->time;
  }
  return longest;
}

TEST(TpotTarget, BoundsTheStepsOfThoseWhoDecode) {
  const auto gap_with = [](double tpot_target_ms) {
    TimedRig rig(timed_config(tpot_target_ms));
    rig.submit(make_submission(1, 10, 100));
    for (int i = 0; i < 5; ++i) rig.tick();
    rig.submit(make_submission(2, 3000, 1));
    rig.finish();
    EXPECT_EQ(tokens_of(rig.events_, 1).size(), 100U);
    return to_milliseconds(longest_gap(rig.events_, 1));
  };
  EXPECT_NEAR(gap_with(0), 10 + 51.1, 1e-6) << "a whole step: 511 prompt tokens";
  EXPECT_LE(gap_with(30), 31);
  EXPECT_GE(gap_with(30), 25) << "as many prompt tokens as fit";
  EXPECT_NEAR(gap_with(1), 10 + 1.6, 1e-6) << "the floor: a block";
}

TEST(TpotTarget, DoesNotHoldPromptsBackWhenNobodyDecodes) {
  TimedRig rig(timed_config(30));
  rig.submit(make_submission(2, 512, 1));
  rig.tick();
  EXPECT_EQ(tokens_of(rig.events_, 2).size(), 1U);
}

TEST(Deadlines, ThatThePredictionMissesAreRefusedAtArrival) {
  TimedRig rig(timed_config(0));
  const auto refusal_of = [&](uint64_t id, int32_t prompt, int32_t max_new_tokens, int64_t ms) -> std::string {
    Submission submission = make_submission(id, prompt, max_new_tokens);
    submission.deadline = rig.clock_.now() + milliseconds(ms);
    rig.submit(std::move(submission));
    for (TokenEvent& event : rig.scheduler_.take_events()) {
      if (const auto* refused = std::get_if<Refused>(&event.what)) {
        EXPECT_EQ(refused->status.code(), StatusCode::kDeadlineExceeded);
        return refused->status.message();
      }
    }
    rig.scheduler_.cancel({.request = {id}, .sequence = std::nullopt}, rig.clock_.now());
    return "";
  };
  // Two steps for the prompt: 120 ms.
  EXPECT_THAT(refusal_of(1, 1000, 1, 100), HasSubstr("the first token is predicted in"));
  EXPECT_EQ(refusal_of(2, 1000, 1, 150), "");
  // 40 tokens at most and 6 by experience, 10 ms each.
  EXPECT_THAT(refusal_of(3, 10, 40, 40), HasSubstr("the last token is predicted in"));
  EXPECT_EQ(refusal_of(4, 10, 40, 120), "");
  EXPECT_EQ(rig.scheduler_.totals().refused, 2U);
}

TEST(Explain, TellsWhenARequestWouldStartAndAnswer) {
  TimedRig rig(timed_config(0));
  const Explanation now = rig.scheduler_.explain(make_submission(1, 100, 40));
  EXPECT_TRUE(now.is_admitted_now);
  ASSERT_TRUE(now.times.has_value());
  EXPECT_EQ(now.times->start, Duration{});
  EXPECT_NEAR(to_milliseconds(now.times->first_token), 20, 2);
  EXPECT_NEAR(to_milliseconds(now.times->finish), 70, 25);
  EXPECT_EQ(now.final_blocks, 9);
  EXPECT_EQ(now.capacity_blocks, 1024);

  rig.submit(make_submission(2, 10'000, 40));
  rig.submit(make_submission(3, 16'000, 40));
  rig.tick();
  const Explanation later = rig.scheduler_.explain(make_submission(4, 100, 40));
  EXPECT_EQ(later.shortage, Shortage::kOrder);
  EXPECT_EQ(later.requests_before, 1);
  ASSERT_TRUE(later.times.has_value());
  EXPECT_GT(later.times->start, Duration{});
  rig.scheduler_.fail_all(unavailable("over"), rig.clock_.now());
}

TEST(Explain, KnowsEveryLimitOfTheQueueWhateverThePriority) {
  SchedulerConfig config = small_config(1, 2);
  config.max_queued_per_tenant = 2;
  config.max_queued_tokens = 20;
  SchedulerRig rig(config, 16, 4);
  const auto lacks_of = [&](int32_t prompt, const char* tenant) {
    Submission question = make_submission(9, prompt, 4);
    question.tenant = tenant;
    question.priority = -100;
    return rig.scheduler_.explain(question).shortage;
  };
  rig.submit(make_submission(1, 8, 30));
  rig.submit(make_submission(2, 8, 4));
  rig.tick();
  EXPECT_EQ(lacks_of(12, ""), Shortage::kRows);
  EXPECT_EQ(lacks_of(13, ""), Shortage::kQueue) << "more tokens than may wait";
  rig.submit(make_submission(3, 8, 4));
  rig.tick();
  EXPECT_EQ(lacks_of(1, "b"), Shortage::kQueue) << "more requests than may wait";
  config.max_queued_requests = 4;
  rig.scheduler_.set_limits(config);
  EXPECT_EQ(lacks_of(1, "b"), Shortage::kRows);
  EXPECT_EQ(lacks_of(1, ""), Shortage::kQueue) << "more of one tenant than may wait";
  rig.finish();
}

TEST(Explain, PutsTheSiblingsOfWhoHasBegunFirst) {
  SchedulerRig rig(small_config(8, 4), 8, 4);
  Submission siblings = make_submission(1, 4, 20);  // 6 blocks each
  siblings.sequence_count = 2;
  rig.submit(siblings);
  rig.tick();
  EXPECT_EQ(rig.scheduler_.running_count(), 1);
  EXPECT_EQ(rig.scheduler_.explain(make_submission(2, 2, 2)).shortage, Shortage::kOrder);
  rig.finish();
}

TEST(Explain, OfWhatNeedsNoStepIsAnAnswerAtOnce) {
  SchedulerRig rig(small_config(1, 0), 4, 4);
  rig.submit(make_submission(1, 8, 4));
  rig.tick();
  const Explanation explanation = rig.scheduler_.explain(make_submission(2, 100, 0));
  EXPECT_TRUE(explanation.is_admitted_now);
  EXPECT_FALSE(explanation.never_fits);
  rig.finish();
}

TEST(Explain, LeavesEverythingAsItWas) {
  SchedulerRig rig(small_config(2, 4), 16, 4);
  rig.submit_with_keys(make_submission(1, 8, 30));
  rig.tick();
  const kvcache::SharedBlockCounts before = rig.pool_.counts();
  const int64_t reserved = rig.scheduler_.reserved_blocks();
  Submission question = make_submission(1, 9, 4);
  question.id = {77};
  add_prefix_keys(question, rig.hasher_, 4);
  EXPECT_EQ(rig.scheduler_.explain(question).cached_tokens, 8);
  EXPECT_EQ(rig.pool_.counts().used, before.used);
  EXPECT_EQ(rig.pool_.counts().shared, before.shared);
  EXPECT_EQ(rig.scheduler_.reserved_blocks(), reserved);
  EXPECT_EQ(rig.scheduler_.waiting_count(), 0);
  rig.scheduler_.answer({.submission = question});
  rig.tick();
  EXPECT_FALSE(event_of<Explained>(rig.events_, 77).explanation.never_fits);
  rig.finish();
}

TEST(Scheduler, CountsHowMuchLongerPromptsMadeTheStepsOfThoseWhoDecode) {
  TimedRig rig(timed_config(0));
  rig.submit(make_submission(1, 10, 30));
  rig.tick();
  const double before = rig.scheduler_.totals().decode_stall_seconds;
  rig.submit(make_submission(2, 400, 1));
  rig.finish();
  EXPECT_NEAR(rig.scheduler_.totals().decode_stall_seconds - before, 0.04, 0.004);
}

}  // namespace
}  // namespace sluice::scheduler
