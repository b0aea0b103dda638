#include "bench/measurements.h"

#include <numeric>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using std::chrono::milliseconds;

const Slo kNoSlo;

RequestOutcome answer(int ttft_ms, int tpot_ms, int32_t tokens) {
  RequestOutcome outcome;
  outcome.timing.ttft = milliseconds(ttft_ms);
  if (tokens > 1) outcome.timing.tpot = milliseconds(tpot_ms);
  outcome.timing.gaps.assign(static_cast<size_t>(tokens - 1), milliseconds(tpot_ms));
  outcome.timing.end_to_end = milliseconds(ttft_ms + tpot_ms * (tokens - 1));
  outcome.timing.completion_tokens = tokens;
  outcome.timing.prompt_tokens = 10;
  outcome.timing.has_usage = true;
  outcome.output_tokens_asked = 3;
  return outcome;
}

RequestOutcome failure(Status status) {
  RequestOutcome outcome;
  outcome.failure = Failure{.status = status, .kind = std::string(status_code_name(status.code()))};
  outcome.timing.end_to_end = milliseconds(1);
  return outcome;
}

TEST(Summary, OfNothingIsEmpty) {
  EXPECT_EQ(summarize(LatencyHistogram()).count, 0);
}

TEST(B31_Summary, PercentilesOfOneToAHundredAreTheirRanks) {
  std::vector<double> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1.0);
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.count, 100);
  EXPECT_EQ(summary.p50, 50);
  EXPECT_EQ(summary.p90, 90);
  EXPECT_EQ(summary.p99, 99);
  EXPECT_EQ(summary.mean, 50.5);
}

TEST(Summary, OfOneSampleIsThatSample) {
  const Summary summary = summarize(std::vector<double>{7});
  EXPECT_EQ(summary.p50, 7);
  EXPECT_EQ(summary.p99, 7);
}

TEST(Summary, RanksRoundUp) {
  EXPECT_EQ(summarize(std::vector<double>{1, 2, 3}).p50, 2);
  EXPECT_EQ(summarize(std::vector<double>{1, 2, 3, 4}).p50, 2);
  EXPECT_EQ(summarize(std::vector<double>{1, 2, 3}).p99, 3);
}

TEST(Measurements, ErrorsAreCountedApartAndAreNeverFastRequests) {
  Measurements measurements(kNoSlo);
  measurements.add(answer(100, 50, 3));
  measurements.add(failure(resource_exhausted("the queue is full")));
  measurements.add(failure(resource_exhausted("still full")));
  measurements.add(failure(internal_error("no")));
  const Report report = measurements.report(std::chrono::seconds(2));
  EXPECT_EQ(report.requests, 4);
  EXPECT_EQ(report.errors, 3);
  EXPECT_EQ(report.errors_by_code.at("RESOURCE_EXHAUSTED").count, 2);
  EXPECT_EQ(report.errors_by_code.at("RESOURCE_EXHAUSTED").example, "the queue is full");
  EXPECT_EQ(report.errors_by_code.at("INTERNAL").count, 1);
  EXPECT_EQ(report.e2e_ms.count, 1);
  EXPECT_EQ(report.e2e_ms.p50, 200);
  EXPECT_EQ(report.ttft_ms.p50, 100);
}

TEST(Measurements, ThroughputIsTokensOfWholeAnswersOverTheDuration) {
  Measurements measurements(kNoSlo);
  measurements.add(answer(100, 50, 3));
  measurements.add(answer(100, 50, 3));
  measurements.add(failure(internal_error("no")));
  const Report report = measurements.report(std::chrono::seconds(2));
  EXPECT_EQ(report.output_tokens_per_second(), 3);
  EXPECT_EQ(report.total_tokens_per_second(), 13);
}

TEST(Measurements, ShortAnswersAreReported) {
  Measurements measurements(kNoSlo);
  measurements.add(answer(100, 50, 2));
  measurements.add(answer(100, 50, 3));
  EXPECT_EQ(measurements.report(Duration::zero()).short_answers, 1);
}

TEST(Measurements, AnAnswerMayBeShorterWhereNoLengthWasAsked) {
  Measurements measurements(kNoSlo);
  RequestOutcome outcome = answer(100, 50, 2);
  outcome.output_tokens_asked.reset();
  measurements.add(outcome);
  EXPECT_EQ(measurements.report(Duration::zero()).short_answers, 0);
}

TEST(B31_Measurements, AnswersWithoutUsageAreCountedApart) {
  Measurements measurements(kNoSlo);
  RequestOutcome outcome = answer(100, 50, 3);
  outcome.timing.has_usage = false;
  measurements.add(outcome);
  measurements.add(answer(100, 50, 3));
  const Report report = measurements.report(std::chrono::seconds(1));
  EXPECT_EQ(report.uncounted_answers, 1);
  EXPECT_EQ(report.output_tokens, 6);
}

TEST(Measurements, TheServersTtftBeginsWhenTheRequestWasSent) {
  Measurements measurements(kNoSlo);
  RequestOutcome outcome = answer(100, 50, 3);
  outcome.slip = milliseconds(40);
  measurements.add(outcome);
  const Report report = measurements.report(std::chrono::seconds(1));
  EXPECT_EQ(report.ttft.max(), milliseconds(100));
  EXPECT_EQ(report.ttft_from_send.max(), milliseconds(60));
  EXPECT_EQ(report.client.slip_p99_ms, 40);
}

TEST(Measurements, GoodputIsWhatKeptTheSloOfAllThatWasAsked) {
  Slo slo;
  slo.ttft = milliseconds(100);
  slo.tpot = milliseconds(50);
  Measurements measurements(slo);
  measurements.add(answer(100, 50, 3));             // just kept
  measurements.add(answer(101, 50, 3));             // missed
  measurements.add(answer(100, 51, 3));             // missed
  measurements.add(failure(internal_error("no")));  // failed, however soon
  const Report report = measurements.report(std::chrono::seconds(2));
  ASSERT_TRUE(report.goodput.has_value());
  EXPECT_EQ(report.goodput->met, 1);
  EXPECT_EQ(report.goodput->share, 0.25);
  EXPECT_EQ(report.goodput->requests_per_second, 0.5);
  EXPECT_EQ(report.goodput->output_tokens_per_second, 1.5);
}

TEST(Measurements, WithoutAnSloThereIsNoGoodput) {
  Measurements measurements(kNoSlo);
  measurements.add(answer(100, 50, 3));
  EXPECT_FALSE(measurements.report(std::chrono::seconds(2)).goodput.has_value());
}

TEST(Measurements, OneTokenHasNoTpot) {
  Measurements measurements(kNoSlo);
  measurements.add(answer(100, 0, 1));
  const Report report = measurements.report(std::chrono::seconds(1));
  EXPECT_EQ(report.ttft_ms.count, 1);
  EXPECT_EQ(report.tpot_ms.count, 0);
  EXPECT_EQ(report.itl_ms.count, 0);
}

TEST(Measurements, ItlHasASamplePerTokenAfterTheFirst) {
  Measurements measurements(kNoSlo);
  measurements.add(answer(100, 50, 3));
  measurements.add(answer(100, 20, 3));
  const Report report = measurements.report(std::chrono::seconds(1));
  EXPECT_EQ(report.itl_ms.count, 4);
  EXPECT_EQ(report.itl_ms.mean, 35);
}

TEST(Measurements, AnEmptyRunHasNoThroughput) {
  EXPECT_EQ(Measurements(kNoSlo).report(Duration::zero()).output_tokens_per_second(), 0);
}

}  // namespace
}  // namespace sluice::bench
