#include "bench/pacer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

constexpr int32_t kNoLimit = 1'000'000;

/// The first `count` arrivals of a loop at that rate, or all there are.
std::vector<double> arrival_seconds(const RateProfile& profile, Regularity regularity, uint64_t seed, int count) {
  OpenLoop arrivals(profile, regularity, seed, TimePoint{}, kNoLimit);
  std::vector<double> seconds;
  for (auto due = arrivals.next_due(0); due && std::ssize(seconds) < count; due = arrivals.next_due(0)) {
    seconds.push_back(to_seconds(*due - TimePoint{}));
    arrivals.advance();
  }
  return seconds;
}

std::vector<double> arrival_seconds(double rate, uint64_t seed, int count) {
  return arrival_seconds(RateProfile::constant(rate), {}, seed, count);
}

int count_within(const std::vector<double>& seconds, double begin, double end) {
  return static_cast<int>(
      std::count_if(seconds.begin(), seconds.end(), [&](double at) { return at >= begin && at < end; }));
}

TEST(ClosedLoop, BeginsAtTheStartAndNeverHasMoreInFlight) {
  ClosedLoop loop(2, TimePoint{std::chrono::seconds(7)});
  for (int32_t in_flight = 0; in_flight < 2; ++in_flight) {
    EXPECT_EQ(loop.next_due(in_flight), TimePoint{std::chrono::seconds(7)});
    loop.advance();
  }
  EXPECT_EQ(loop.next_due(2), std::nullopt);
}

TEST(ClosedLoop, IsDueWhenTheOneItReplacesEnded) {
  ClosedLoop loop(2, TimePoint{});
  loop.advance();
  loop.advance();
  loop.ended(TimePoint{std::chrono::seconds(3)});
  loop.ended(TimePoint{std::chrono::seconds(4)});
  EXPECT_EQ(loop.next_due(0), TimePoint{std::chrono::seconds(3)});
  loop.advance();
  EXPECT_EQ(loop.next_due(1), TimePoint{std::chrono::seconds(4)});
}

TEST(PoissonArrivals, WaitWhenTooManyAreInFlightButKeepTheirTime) {
  const OpenLoop arrivals(RateProfile::constant(10), {}, 1, TimePoint{}, 3);
  const auto due = arrivals.next_due(2);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(arrivals.next_due(3), std::nullopt);
  EXPECT_EQ(arrivals.next_due(2), due);
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

TEST(GammaArrivals, HaveTheMeanAndTheSpreadOfTheirBurstiness) {
  constexpr int kCount = 20'000;
  for (const double burstiness : {0.25, 4.0}) {
    const std::vector<double> seconds =
        arrival_seconds(RateProfile::constant(10), {.burstiness = burstiness}, 3, kCount);
    double squares = 0;
    for (size_t i = 0; i < seconds.size(); ++i) {
      const double gap = seconds[i] - (i == 0 ? 0 : seconds[i - 1]);
      squares += (gap - 0.1) * (gap - 0.1);
    }
    // A gamma of shape k has a variance of mean^2 / k. Five standard errors, of a kurtosis of 3 + 6 / k.
    const double variance = 0.01 / burstiness;
    EXPECT_NEAR(seconds.back() / kCount, 0.1, 5 * std::sqrt(variance / kCount)) << burstiness;
    EXPECT_NEAR(squares / kCount, variance, 5 * variance * std::sqrt((2 + 6 / burstiness) / kCount)) << burstiness;
  }
}

TEST(ConstantArrivals, AreEvenlySpaced) {
  const std::vector<double> seconds = arrival_seconds(RateProfile::constant(4), {.is_constant = true}, 3, 4);
  EXPECT_EQ(seconds, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

TEST(RampArrivals, GetMoreAsTheRateRisesAndEndWithIt) {
  // 0 to 10 a second within 100 s: 500 in all, a quarter of them in the first half.
  const std::vector<double> even = arrival_seconds(RateProfile::ramp(0, 10, 100), {.is_constant = true}, 1, kNoLimit);
  EXPECT_EQ(even.size(), 500U);
  EXPECT_EQ(count_within(even, 0, 50), 124);  // the 125th comes at 50 s
  EXPECT_NEAR(even.back(), 100, 1e-6);
  const std::vector<double> poisson = arrival_seconds(RateProfile::ramp(0, 10, 100), {}, 1, kNoLimit);
  EXPECT_NEAR(static_cast<double>(poisson.size()), 500, 5 * std::sqrt(500));
  EXPECT_NEAR(count_within(poisson, 0, 50), 125, 5 * std::sqrt(125));
}

TEST(RampArrivals, MayFallToo) {
  const std::vector<double> even = arrival_seconds(RateProfile::ramp(10, 0, 100), {.is_constant = true}, 1, kNoLimit);
  EXPECT_EQ(count_within(even, 0, 50), 374);  // the 375th comes at 50 s
}

TEST(StepArrivals, FollowTheirRatesOneAfterTheOther) {
  const RateProfile profile = RateProfile::of(parse_steps("2:10s,0:5s,8:10s").value());
  EXPECT_EQ(profile.seconds(), 25);
  const std::vector<double> even = arrival_seconds(profile, {.is_constant = true}, 1, kNoLimit);
  EXPECT_EQ(even.size(), 100U);
  EXPECT_EQ(count_within(even, 0, 10.001), 20);
  EXPECT_EQ(count_within(even, 10.001, 15), 0);
  EXPECT_EQ(count_within(even, 15, 25.001), 80);
}

TEST(RateProfile, ReadsRamps) {
  const RateProfile::Piece piece = parse_ramp("1..20.5").value();
  EXPECT_EQ(piece.begin, 1);
  EXPECT_EQ(piece.end, 20.5);
  EXPECT_TRUE(parse_ramp("0..1000000").ok());
  for (const char* const bad : {"", "5", "..5", "5..", "0..0", "-1..5", "1..1000001", "1..inf", "a..b", "1..2..3"})
    EXPECT_FALSE(parse_ramp(bad).ok()) << bad;
}

TEST(RateProfile, ReadsSteps) {
  const std::vector<RateProfile::Piece> steps = parse_steps("2:30s,8:500ms").value();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].begin, 2);
  EXPECT_EQ(steps[0].end, 2);
  EXPECT_EQ(steps[1].seconds, 0.5);
  for (const char* const bad : {"", "2", "2:", "2:30", ":30s", "2:30s,", "0:30s", "-1:30s", "1000001:1s", "2:0s"})
    EXPECT_FALSE(parse_steps(bad).ok()) << bad;
}

TEST(GivenTimes, AreDueInTheirOrderAndEnd) {
  GivenTimes times({std::chrono::seconds(0), std::chrono::seconds(2)}, TimePoint{std::chrono::seconds(5)}, 2);
  EXPECT_EQ(times.next_due(0), TimePoint{std::chrono::seconds(5)});
  times.advance();
  EXPECT_EQ(times.next_due(1), TimePoint{std::chrono::seconds(7)});
  EXPECT_EQ(times.next_due(2), std::nullopt);
  times.advance();
  EXPECT_EQ(times.next_due(0), std::nullopt);
}

}  // namespace
}  // namespace sluice::bench
