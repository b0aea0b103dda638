#include "bench/pacer.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

constexpr int32_t kNoLimit = 1'000'000;

std::vector<double> arrival_seconds(double rate, uint64_t seed, int count) {
  PoissonArrivals arrivals(rate, seed, TimePoint{}, kNoLimit);
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i, arrivals.advance()) {
    seconds.push_back(to_seconds(arrivals.next_due(TimePoint{}, 0).value() - TimePoint{}));
  }
  return seconds;
}

TEST(ClosedLoop, SendsAtOnceWhileThereIsRoomAndNotBeyond) {
  const ClosedLoop loop(2);
  const TimePoint now{std::chrono::seconds(7)};
  EXPECT_EQ(loop.next_due(now, 0), now);
  EXPECT_EQ(loop.next_due(now, 1), now);
  EXPECT_EQ(loop.next_due(now, 2), std::nullopt);
}

TEST(PoissonArrivals, WaitWhenTooManyAreInFlightButKeepTheirTime) {
  const PoissonArrivals arrivals(10, 1, TimePoint{}, 3);
  const TimePoint much_later{std::chrono::hours(1)};
  const auto due = arrivals.next_due(TimePoint{}, 2);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(arrivals.next_due(much_later, 3), std::nullopt);
  EXPECT_EQ(arrivals.next_due(much_later, 2), due);
}

TEST(PoissonArrivals, SameSeedSameArrivals) {
  EXPECT_EQ(arrival_seconds(5, 42, 100), arrival_seconds(5, 42, 100));
  EXPECT_NE(arrival_seconds(5, 42, 100), arrival_seconds(5, 43, 100));
}

TEST(PoissonArrivals, TwiceTheRateIsHalfTheTime) {
  const std::vector<double> slow = arrival_seconds(5, 42, 100);
  const std::vector<double> fast = arrival_seconds(10, 42, 100);
  for (size_t i = 0; i < slow.size(); ++i) EXPECT_NEAR(slow[i], 2 * fast[i], 1e-6);
}

TEST(PoissonArrivals, GapsAreExponential) {
  const int count = 20'000;
  const double rate = 4;
  const std::vector<double> seconds = arrival_seconds(rate, 7, count);
  double previous = 0;
  double sum_of_squares = 0;
  int longer_than_mean = 0;
  for (const double at : seconds) {
    const double gap = at - previous;
    ASSERT_GE(gap, 0);
    sum_of_squares += gap * gap;
    if (gap > 1 / rate) ++longer_than_mean;
    previous = at;
  }
  // Of an exponential: mean 1/r, mean square 2/r^2, and a share of 1/e beyond the mean. Five standard errors.
  EXPECT_NEAR(seconds.back() / count, 1 / rate, 5 / rate / std::sqrt(count));
  EXPECT_NEAR(sum_of_squares / count, 2 / (rate * rate), 5 * std::sqrt(20.0) / (rate * rate) / std::sqrt(count));
  EXPECT_NEAR(static_cast<double>(longer_than_mean) / count, std::exp(-1), 5 * 0.5 / std::sqrt(count));
}

}  // namespace
}  // namespace sluice::bench
