#include "server/latency_window.h"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint at(Duration since_zero) {
  return TimePoint(since_zero);
}

void expect_about(const std::optional<Duration>& quantile, double ms) {
  ASSERT_TRUE(quantile.has_value());
  EXPECT_NEAR(to_milliseconds(*quantile), ms, 0.021 * ms);
}

class LatencyWindowTest : public ::testing::Test {
 protected:
  LatencyWindow window_;
};

TEST_F(LatencyWindowTest, HasNoQuantilesOfNothing) {
  const RecentQuantiles none = window_.quantiles(at(seconds(1)));
  EXPECT_EQ(none.count, 0);
  EXPECT_FALSE(none.p50.has_value() || none.p90.has_value() || none.p99.has_value());
}

TEST_F(LatencyWindowTest, GivesQuantilesByNearestRankWithinTwoPercent) {
  for (int i = 1; i <= 1000; ++i) window_.observe(at(seconds(5)), milliseconds(i));
  const RecentQuantiles recent = window_.quantiles(at(seconds(6)));
  EXPECT_EQ(recent.count, 1000);
  expect_about(recent.p50, 500);
  expect_about(recent.p90, 900);
  expect_about(recent.p99, 990);
}

TEST_F(LatencyWindowTest, OneSampleIsEveryQuantile) {
  window_.observe(at(seconds(5)), milliseconds(40));
  const RecentQuantiles recent = window_.quantiles(at(seconds(5)));
  expect_about(recent.p50, 40);
  EXPECT_EQ(recent.p50, recent.p99);
}

TEST_F(LatencyWindowTest, ForgetsWhatIsOlderThanAMinute) {
  window_.observe(at(seconds(100)), milliseconds(10));
  EXPECT_EQ(window_.quantiles(at(seconds(160))).count, 1);
  EXPECT_EQ(window_.quantiles(at(seconds(162))).count, 0);
  for (int second = 100; second < 200; ++second) window_.observe(at(seconds(second)), milliseconds(10));
  EXPECT_EQ(window_.quantiles(at(seconds(199))).count, 62) << "60 s and the two that have only begun";
}

TEST_F(LatencyWindowTest, CountsEveryOneOfManySamples) {
  for (int i = 0; i < 100'000; ++i)
    window_.observe(at(milliseconds(100'000 + i / 10)), milliseconds(i % 2 == 0 ? 2 : 8));
  const RecentQuantiles recent = window_.quantiles(at(seconds(110)));
  EXPECT_EQ(recent.count, 100'000);
  expect_about(recent.p50, 2);
  expect_about(recent.p90, 8);
}

TEST_F(LatencyWindowTest, ExtremesFallIntoTheOutermostBuckets) {
  for (const Duration odd : {Duration(-5), Duration(0), Duration(1)}) window_.observe(at(seconds(1)), odd);
  EXPECT_LT(*window_.quantiles(at(seconds(1))).p99, std::chrono::microseconds(11));
  window_.observe(at(seconds(1)), std::chrono::hours(1000));
  EXPECT_GT(*window_.quantiles(at(seconds(1))).p99, seconds(1000));
}

TEST_F(LatencyWindowTest, ASampleThatComesLateCountsWithTheNewest) {
  window_.observe(at(seconds(100)), milliseconds(10));
  window_.observe(at(seconds(10)), milliseconds(10));
  EXPECT_EQ(window_.quantiles(at(seconds(100))).count, 2);
}

TEST_F(LatencyWindowTest, ReadersAndWritersDoNotMind) {
  std::thread writer([this] {
    for (int i = 0; i < 20'000; ++i) window_.observe(at(milliseconds(i)), milliseconds(3));
  });
  int64_t seen = 0;
  for (int i = 0; i < 50; ++i) {
    const int64_t count = window_.quantiles(at(seconds(19))).count;
    EXPECT_GE(count, seen);
    seen = count;
  }
  writer.join();
  EXPECT_EQ(window_.quantiles(at(seconds(19))).count, 20'000);
}

}  // namespace
}  // namespace sluice::server
