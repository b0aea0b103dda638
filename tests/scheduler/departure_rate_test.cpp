#include "scheduler/departure_rate.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;

TimePoint at(int64_t ms) {
  return TimePoint(milliseconds(ms));
}

TEST(DepartureRate, GuessesASecondPerPlaceBeforeTheFirstDeparture) {
  const DepartureRate rate;
  EXPECT_EQ(rate.retry_after_ms(1), 1000);
  EXPECT_EQ(rate.retry_after_ms(3), 3000);
}

TEST(DepartureRate, FollowsThePaceOfDepartures) {
  DepartureRate rate;
  rate.begin(at(0));
  for (int i = 1; i <= 4; ++i) rate.note(at(i * 200));
  EXPECT_EQ(rate.retry_after_ms(1), 200);
  EXPECT_EQ(rate.retry_after_ms(5), 1000);
  for (int i = 1; i <= 60; ++i) rate.note(at(800 + i * 10));
  EXPECT_NEAR(static_cast<double>(rate.retry_after_ms(1)), 10, 1);
}

TEST(DepartureRate, LeavesIdleTimeOut) {
  DepartureRate rate;
  rate.begin(at(0));
  rate.note(at(50));
  rate.begin(at(3'600'000));
  rate.note(at(3'600'050));
  EXPECT_EQ(rate.retry_after_ms(1), 50);
}

TEST(DepartureRate, StaysBetweenAMillisecondAndAMinute) {
  DepartureRate fast;
  fast.begin(at(0));
  fast.note(at(0));
  EXPECT_EQ(fast.retry_after_ms(1), 1);
  DepartureRate slow;
  slow.begin(at(0));
  slow.note(at(59'999));
  EXPECT_EQ(slow.retry_after_ms(1), 59'999);
  EXPECT_EQ(slow.retry_after_ms(2), 60'000);
}

}  // namespace
}  // namespace sluice::scheduler
