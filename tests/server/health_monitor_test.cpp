#include "server/health_monitor.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kTimeout = milliseconds(100);
constexpr TimePoint kBegan{std::chrono::hours(1)};

Health health_after(Duration age) {
  scheduler::LoopStats stats;
  stats.tick_began_ns = kBegan.time_since_epoch().count();
  return assess_health(stats, kBegan + age, kTimeout);
}

TEST(HealthMonitor, ATickLongerThanTheTimeoutIsAStall) {
  EXPECT_EQ(health_after(kTimeout + nanoseconds(1)), Health::kStalled);
  EXPECT_EQ(health_after(std::chrono::hours(24)), Health::kStalled);
}

TEST(HealthMonitor, ATickOfExactlyTheTimeoutIsHealthy) {
  EXPECT_EQ(health_after(kTimeout), Health::kHealthy);
}

TEST(HealthMonitor, ATickThatBeganAfterNowWasReadIsHealthy) {
  EXPECT_EQ(health_after(-milliseconds(5)), Health::kHealthy);
}

TEST(HealthMonitor, AnIdleLoopIsHealthyHoweverLong) {
  const scheduler::LoopStats stats;
  EXPECT_EQ(assess_health(stats, kBegan + std::chrono::hours(1000), kTimeout), Health::kHealthy);
}

TEST(HealthMonitor, RecoversWhenTheTickEnds) {
  scheduler::LoopStats stats;
  stats.tick_began_ns = kBegan.time_since_epoch().count();
  ASSERT_EQ(assess_health(stats, kBegan + 2 * kTimeout, kTimeout), Health::kStalled);
  stats.tick_began_ns = 0;
  EXPECT_EQ(assess_health(stats, kBegan + 2 * kTimeout, kTimeout), Health::kHealthy);
}

}  // namespace
}  // namespace sluice::server
