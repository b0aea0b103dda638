#include "scheduler/scheduler_config.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

using ::testing::HasSubstr;

void expect_refused(const SchedulerConfig& config, const std::string& field) {
  const Status status = config.validate();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), field);
  EXPECT_THAT(status.message(), HasSubstr(field));
}

void expect_accepted(const SchedulerConfig& config) {
  EXPECT_EQ(config.validate(), Status());
}

TEST(SchedulerConfig, HasValidDefaults) {
  expect_accepted({});
}

TEST(SchedulerConfig, BoundsMaxRunning) {
  expect_refused({.max_running = 0}, "scheduler.max_running");
  expect_refused({.max_running = -1}, "scheduler.max_running");
  expect_accepted({.max_running = 1});
  expect_accepted({.max_running = 4096, .tokens_per_step = 4096});
  expect_refused({.max_running = 4097, .tokens_per_step = 8192}, "scheduler.max_running");
}

TEST(SchedulerConfig, BoundsMaxQueuedRequests) {
  expect_refused({.max_queued_requests = -1}, "scheduler.max_queued_requests");
  expect_accepted({.max_queued_requests = 0});
  expect_accepted({.max_queued_requests = 1'000'000});
  expect_refused({.max_queued_requests = 1'000'001}, "scheduler.max_queued_requests");
}

TEST(SchedulerConfig, DemandsATokenPerRunningSequence) {
  expect_refused({.max_running = 64, .tokens_per_step = 63}, "scheduler.tokens_per_step");
  expect_accepted({.max_running = 64, .tokens_per_step = 64});
  expect_accepted({.tokens_per_step = 1 << 20});
  expect_refused({.tokens_per_step = (1 << 20) + 1}, "scheduler.tokens_per_step");
}

TEST(SchedulerConfig, RefusesATargetItCannotHold) {
  expect_accepted({.tpot_target_ms = 0});
  expect_refused({.tpot_target_ms = 1}, "scheduler.tpot_target_ms");
  expect_refused({.tpot_target_ms = -1}, "scheduler.tpot_target_ms");
  expect_refused({.tpot_target_ms = std::numeric_limits<double>::quiet_NaN()}, "scheduler.tpot_target_ms");
}

TEST(SchedulerConfig, RefusesPoliciesThatDoNotExist) {
  expect_accepted({.admission = "reserve"});
  for (const char* policy : {"", "Reserve", "plan", "adaptive"})
    expect_refused({.admission = policy}, "scheduler.admission");
}

TEST(SchedulerConfig, NamesTheLargestStep) {
  const SchedulerConfig config{.max_running = 64, .tokens_per_step = 70};
  EXPECT_EQ(config.step_tokens_max(7), 70);  // 63 rows decode, 7 tokens are left
  EXPECT_EQ(config.step_tokens_max(8), 71);  // 63 rows decode, the floor is 8
  EXPECT_EQ(config.step_tokens_max(16), 79);
}

}  // namespace
}  // namespace sluice::scheduler
