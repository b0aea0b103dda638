#include "bench/server_histogram.h"

#include <gtest/gtest.h>

#include "bench/cross_check.h"

namespace sluice::bench {
namespace {

const char* const kText = R"(# HELP t_seconds x
# TYPE t_seconds histogram
t_seconds_bucket{tenant="a}",le="0.1"} 2
t_seconds_bucket{tenant="a}",le="0.2"} 3
t_seconds_bucket{tenant="a}",le="+Inf"} 4
t_seconds_bucket{le="0.1",tenant="le=\"9"} 1
t_seconds_bucket{le="0.2",tenant="le=\"9"} 1 1700000000
t_seconds_bucket{le="+Inf",tenant="le=\"9"} 1
t_seconds_count{tenant="a}"} 4
t_seconds_other_bucket{le="0.1"} 99
)";

TEST(ServerHistogram, OfAnythingElseIsEmpty) {
  EXPECT_TRUE(ServerHistogram::parse("", "t_seconds").is_empty());
  EXPECT_TRUE(ServerHistogram::parse("t_seconds_bucket{ x\nt_seconds_bucket{le=\"q\"} 1\n", "t_seconds").is_empty());
  EXPECT_FALSE(ServerHistogram().quantile(0.5).has_value());
}

TEST(ServerHistogram, SumsOverLabels) {
  const ServerHistogram histogram = ServerHistogram::parse(kText, "t_seconds");
  EXPECT_EQ(histogram.count(), 5);
  // Rank 2.5 of the 3 that are at most 0.1.
  EXPECT_NEAR(histogram.quantile(0.5)->seconds, 0.1 * 2.5 / 3, 1e-12);
  EXPECT_NEAR(histogram.quantile(0.5)->bucket_width, 0.1, 1e-12);
}

TEST(ServerHistogram, TheLastBucketHasNoEnd) {
  const ServerHistogram histogram = ServerHistogram::parse(kText, "t_seconds");
  EXPECT_EQ(histogram.quantile(0.99)->seconds, 0.2);
  EXPECT_GT(histogram.quantile(0.99)->bucket_width, 1e300);
}

TEST(ServerHistogram, SinceIsWhatCameMeanwhile) {
  const ServerHistogram now = ServerHistogram::parse(kText, "t_seconds");
  EXPECT_EQ(now.since(now).count(), 0);
  EXPECT_FALSE(now.since(now).quantile(0.5).has_value());
  EXPECT_EQ(now.since(ServerHistogram()).count(), 5);
}

std::string exposition(int at_most_100, int at_most_200) {
  const std::string name = "sluice_time_to_first_token_seconds_bucket{le=\"";
  const auto total = std::to_string(at_most_200);
  return name + "0.1\"} " + std::to_string(at_most_100) + "\n" + name + "0.2\"} " + total + "\n" + name + "+Inf\"} " +
         total + "\n";
}

Report report_with_ttft(int ms) {
  Report report;
  report.ttft_from_send.add(std::chrono::milliseconds(ms));
  return report;
}

TEST(CrossCheck, AgreesWithinFiveMillisecondsAndABucket) {
  // One answer meanwhile, at 100 to 200 ms: told as 150 and 199 ms.
  const std::string before = exposition(7, 7);
  const std::string after = exposition(7, 8);
  const ServerView near = compare_with_server(before, after, report_with_ttft(255));
  ASSERT_EQ(near.comparisons.size(), 2U);
  EXPECT_EQ(near.server_answers, 1);
  EXPECT_EQ(near.comparisons[0].name, "TTFT p50");
  EXPECT_NEAR(near.comparisons[0].server_ms, 150, 1e-9);
  EXPECT_NEAR(near.comparisons[0].tolerance_ms, 105, 1e-9);
  EXPECT_TRUE(near.comparisons[0].agrees());
  EXPECT_FALSE(compare_with_server(before, after, report_with_ttft(256)).comparisons[0].agrees());
}

TEST(CrossCheck, SaysWhenTheServerSawNothing) {
  EXPECT_NE(compare_with_server(exposition(7, 7), exposition(7, 7), report_with_ttft(1)).problem, "");
}

}  // namespace
}  // namespace sluice::bench
