#include "server/health_monitor.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kTimeout = milliseconds(100);
constexpr TimePoint kBegan{std::chrono::hours(1)};

HealthState state_after(Duration age) {
  scheduler::LoopStats stats;
  stats.tick_began_ns = kBegan.time_since_epoch().count();
  return assess_health(stats, kBegan + age, kTimeout).state;
}

/// Of a loop whose last so many steps have failed.
Health health_with_failures(int32_t count) {
  scheduler::LoopStats stats;
  for (int32_t i = 1; i <= count; ++i) stats.failures.note_failure("failure " + std::to_string(i));
  return assess_health(stats, kBegan, kTimeout);
}

TEST(HealthMonitor, ATickLongerThanTheTimeoutIsAStall) {
  EXPECT_EQ(state_after(kTimeout + nanoseconds(1)), HealthState::kStalled);
  EXPECT_EQ(state_after(std::chrono::hours(24)), HealthState::kStalled);
}

TEST(HealthMonitor, ATickOfExactlyTheTimeoutIsHealthy) {
  EXPECT_EQ(state_after(kTimeout), HealthState::kHealthy);
}

TEST(HealthMonitor, ATickThatBeganAfterNowWasReadIsHealthy) {
  EXPECT_EQ(state_after(-milliseconds(5)), HealthState::kHealthy);
}

TEST(HealthMonitor, AnIdleLoopIsHealthyHoweverLong) {
  const scheduler::LoopStats stats;
  EXPECT_EQ(assess_health(stats, kBegan + std::chrono::hours(1000), kTimeout).state, HealthState::kHealthy);
}

TEST(HealthMonitor, RecoversWhenTheTickEnds) {
  scheduler::LoopStats stats;
  stats.tick_began_ns = kBegan.time_since_epoch().count();
  ASSERT_EQ(assess_health(stats, kBegan + 2 * kTimeout, kTimeout).state, HealthState::kStalled);
  stats.tick_began_ns = 0;
  EXPECT_EQ(assess_health(stats, kBegan + 2 * kTimeout, kTimeout).state, HealthState::kHealthy);
}

TEST(HealthMonitor, FailsFromTheThirdFailedStepInARowOnAndTellsWhyTheLastOneFailed) {
  EXPECT_TRUE(health_with_failures(kFailedStepsInARow - 1).is_healthy());
  EXPECT_EQ(health_with_failures(kFailedStepsInARow - 1).reason, "");
  EXPECT_EQ(health_with_failures(kFailedStepsInARow).state, HealthState::kFailing);
  EXPECT_EQ(health_with_failures(3).reason, "the last 3 steps failed, the last one with: failure 3");
  EXPECT_EQ(health_with_failures(100).reason, "the last 100 steps failed, the last one with: failure 100");
}

TEST(HealthMonitor, AStepThatSucceedsEndsARowOfFailures) {
  scheduler::LoopStats stats;
  for (int32_t i = 0; i < 100; ++i) stats.failures.note_failure("out of order");
  stats.failures.note_success();
  EXPECT_TRUE(assess_health(stats, kBegan, kTimeout).is_healthy());
  for (int32_t i = 1; i < kFailedStepsInARow; ++i) stats.failures.note_failure("out of order");
  EXPECT_TRUE(assess_health(stats, kBegan, kTimeout).is_healthy());
}

TEST(HealthMonitor, ATickThatHangsIsToldBeforeStepsThatFailed) {
  scheduler::LoopStats stats;
  for (int32_t i = 0; i < kFailedStepsInARow; ++i) stats.failures.note_failure("out of order");
  stats.tick_began_ns = kBegan.time_since_epoch().count();
  EXPECT_EQ(assess_health(stats, kBegan + 2 * kTimeout, kTimeout).state, HealthState::kStalled);
  EXPECT_EQ(assess_health(stats, kBegan + kTimeout, kTimeout).state, HealthState::kFailing);
}

}  // namespace
}  // namespace sluice::server
