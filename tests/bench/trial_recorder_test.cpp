#include "bench/trial_recorder.h"

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBegin{};

/// A request that ends so long after the beginning, with these latencies.
RequestOutcome answer(Duration ended, Duration ttft = milliseconds(10), Duration tpot = milliseconds(1)) {
  RequestOutcome outcome;
  outcome.due = kBegin;
  outcome.took = ended;
  outcome.timing.ttft = ttft;
  outcome.timing.tpot = tpot;
  outcome.timing.completion_tokens = 4;
  return outcome;
}

RequestOutcome failure(Duration ended) {
  RequestOutcome outcome;
  outcome.due = kBegin;
  outcome.took = ended;
  outcome.failure = Failure{.status = unavailable("away"), .kind = "UNAVAILABLE"};
  return outcome;
}

Slo slo_of(const std::string& text) {
  return *parse_slo(text);
}

TEST(TrialRecorder, LeavesOutWhatEndedBeforeItHadSettled) {
  TrialRecorder recorder(slo_of("ttft=1s"), 2, 2, kBegin);
  recorder.add(answer(seconds(1), seconds(5)));
  recorder.add(answer(seconds(2), seconds(5)));
  EXPECT_TRUE(recorder.batches().empty());
  recorder.add(answer(seconds(3)));
  recorder.add(answer(seconds(6)));
  ASSERT_EQ(recorder.batches().size(), 1U);
  EXPECT_EQ(recorder.batches()[0].ended, 2);
  EXPECT_EQ(recorder.batches()[0].good, 2);
  EXPECT_DOUBLE_EQ(recorder.batches()[0].seconds, 4);
  const Trial trial = recorder.trial();
  EXPECT_DOUBLE_EQ(trial.settle_s, 2);
  EXPECT_DOUBLE_EQ(trial.measured_s, 4);
  EXPECT_EQ(trial.requests, 2);
  EXPECT_EQ(trial.output_tokens, 8);
}

TEST(TrialRecorder, CountsWholeBatchesOnly) {
  TrialRecorder recorder(slo_of("ttft=1s"), 1, 3, kBegin);
  for (int second = 1; second <= 6; ++second) recorder.add(answer(seconds(second)));
  EXPECT_EQ(recorder.batches().size(), 1U);
  EXPECT_EQ(recorder.trial().requests, 3);
  EXPECT_EQ(recorder.trial().ttft_ms.size(), 3U);
}

TEST(TrialRecorder, EndsABatchWithoutAnythingGoodAtHalfItsSize) {
  TrialRecorder recorder(slo_of("ttft=1ms"), 1, 20, kBegin);
  for (int second = 1; second <= 11; ++second) recorder.add(answer(seconds(second)));
  ASSERT_EQ(recorder.batches().size(), 1U);
  EXPECT_EQ(recorder.batches()[0].ended, 10);
  // One that is good makes the next a whole one.
  recorder.add(answer(seconds(12), Duration{}));
  for (int second = 13; second <= 30; ++second) recorder.add(answer(seconds(second)));
  EXPECT_EQ(recorder.batches().size(), 1U);
  recorder.add(answer(seconds(31)));
  ASSERT_EQ(recorder.batches().size(), 2U);
  EXPECT_EQ(recorder.batches()[1].ended, 20);
  EXPECT_EQ(recorder.batches()[1].good, 1);
}

TEST(TrialRecorder, CountsFromTheBeginningWhenThePaceIsBrokenThroughout) {
  TrialRecorder recorder(slo_of("ttft=1s,tpot=10ms"), 20, 20, kBegin);
  for (int second = 1; second <= 10; ++second) recorder.add(answer(seconds(second), Duration{}, milliseconds(11)));
  ASSERT_EQ(recorder.batches().size(), 1U);
  EXPECT_EQ(recorder.batches()[0].ended, 10);
  EXPECT_DOUBLE_EQ(recorder.batches()[0].seconds, 10);
  EXPECT_EQ(recorder.trial().tpot_kept, 0);
  EXPECT_EQ(recorder.trial().settle_s, 0);
}

TEST(TrialRecorder, WaitsUntilItHasSettledWhenAnybodyKeptThePace) {
  TrialRecorder recorder(slo_of("ttft=1s,tpot=10ms"), 20, 20, kBegin);
  recorder.add(answer(seconds(1)));
  for (int second = 2; second <= 20; ++second) recorder.add(answer(seconds(second), Duration{}, milliseconds(11)));
  EXPECT_TRUE(recorder.batches().empty());
  EXPECT_DOUBLE_EQ(recorder.trial().settle_s, 20);
}

TEST(TrialRecorder, TellsWhichPartOfTheObjectiveBreaks) {
  TrialRecorder recorder(slo_of("ttft=100ms,tpot=10ms"), 1, 4, kBegin);
  recorder.add(answer(seconds(1)));
  recorder.add(answer(seconds(2)));
  recorder.add(answer(seconds(3), milliseconds(101)));
  recorder.add(answer(seconds(4), milliseconds(10), milliseconds(11)));
  recorder.add(answer(seconds(5), milliseconds(100), milliseconds(10)));
  const Trial trial = recorder.trial();
  EXPECT_EQ(trial.ttft_kept, 3);
  EXPECT_EQ(trial.tpot_kept, 3);
  EXPECT_EQ(trial.batches[0].good, 2);
  EXPECT_EQ(trial.batches[0].good_tokens, 8);
}

TEST(TrialRecorder, NeverTakesAFailureForGood) {
  TrialRecorder recorder(Slo(), 1, 2, kBegin);
  recorder.add(answer(seconds(1)));
  recorder.add(failure(seconds(2)));
  recorder.add(answer(seconds(3)));
  EXPECT_EQ(recorder.batches()[0].good, 1);
  EXPECT_EQ(recorder.batches()[0].whole, 1);
  EXPECT_EQ(recorder.batches()[0].ended, 2);
  EXPECT_EQ(recorder.trial().errors, 1);
  EXPECT_EQ(recorder.trial().first_error, "away");
  EXPECT_FALSE(recorder.nothing_works());
}

TEST(TrialRecorder, SeesThatNothingWorks) {
  TrialRecorder recorder(Slo(), 2, 2, kBegin);
  recorder.add(failure(seconds(1)));
  EXPECT_FALSE(recorder.nothing_works());
  recorder.add(failure(seconds(2)));
  EXPECT_TRUE(recorder.nothing_works());
  recorder.add(answer(seconds(3)));
  EXPECT_FALSE(recorder.nothing_works());
}

TEST(TrialRecorder, AveragesFullnessFromWhenItHadSettled) {
  TrialRecorder recorder(Slo(), 1, 1, kBegin);
  recorder.add(Fullness{.kv_used = 1, .kv_reserved = 1, .running = 100});
  recorder.add(answer(seconds(1)));
  recorder.add(Fullness{.kv_used = 0.2, .kv_reserved = 0.4, .running = 2});
  recorder.add(Fullness{.kv_used = 0.4, .kv_reserved = 0.6, .running = 4});
  const Trial trial = recorder.trial();
  EXPECT_DOUBLE_EQ(trial.kv_used_share, 0.3);
  EXPECT_DOUBLE_EQ(trial.kv_used_share_max, 0.4);
  EXPECT_DOUBLE_EQ(trial.kv_reserved_share, 0.5);
  EXPECT_DOUBLE_EQ(trial.running_mean, 3);
}

TEST(TrialRecorder, AveragesWhatIsAlwaysTheSameToJustThat) {
  TrialRecorder recorder(Slo(), 1, 1, kBegin);
  recorder.add(answer(seconds(1)));
  for (int i = 0; i < 100; ++i) {
    recorder.add(Fullness{.kv_used = 0.5, .kv_reserved = 0.5, .running = 4});
    EXPECT_EQ(recorder.trial().running_mean, 4) << i;
    EXPECT_EQ(recorder.trial().kv_used_share, 0.5) << i;
  }
}

TEST(TrialRecorder, BeginsAfterTheWarmUp) {
  TrialRecorder recorder(Slo(), 1, 1, kBegin);
  recorder.begin(kBegin + seconds(5));
  recorder.add(answer(seconds(6)));
  EXPECT_DOUBLE_EQ(recorder.trial().settle_s, 1);
}

TEST(MergedTrials, HoldAllSamplesAndWeighMeansByTime) {
  Trial a;
  a.batches = {{.ended = 1, .whole = 1, .good = 1, .good_tokens = 3, .seconds = 1}};
  a.measured_s = 1;
  a.requests = 1;
  a.ttft_ms = {1};
  a.kv_used_share = 0.1;
  a.kv_used_share_max = 0.2;
  Trial b = a;
  b.measured_s = 3;
  b.kv_used_share = 0.5;
  b.kv_used_share_max = 0.6;
  b.ttft_ms = {2, 3};
  const Trial all = merged({a, b});
  EXPECT_EQ(all.batches.size(), 2U);
  EXPECT_EQ(all.ttft_ms, (std::vector<double>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(all.measured_s, 4);
  EXPECT_DOUBLE_EQ(all.kv_used_share, 0.4);
  EXPECT_DOUBLE_EQ(all.kv_used_share_max, 0.6);
  EXPECT_EQ(all.requests, 2);
}

}  // namespace
}  // namespace sluice::bench
