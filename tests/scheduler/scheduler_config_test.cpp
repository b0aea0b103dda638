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

TEST(SchedulerConfig, BoundsTheTpotTarget) {
  expect_accepted({.tpot_target_ms = 0});
  expect_accepted({.tpot_target_ms = 0.5});
  expect_accepted({.tpot_target_ms = 60'000});
  expect_refused({.tpot_target_ms = 60'001}, "scheduler.tpot_target_ms");
  expect_refused({.tpot_target_ms = -1}, "scheduler.tpot_target_ms");
  expect_refused({.tpot_target_ms = std::numeric_limits<double>::quiet_NaN()}, "scheduler.tpot_target_ms");
}

TEST(SchedulerConfig, BoundsTheQueuesTokens) {
  expect_refused({.max_queued_tokens = 0}, "scheduler.max_queued_tokens");
  expect_accepted({.max_queued_tokens = 1});
  expect_accepted({.max_queued_tokens = int64_t{1} << 40});
  expect_refused({.max_queued_tokens = (int64_t{1} << 40) + 1}, "scheduler.max_queued_tokens");
}

TEST(SchedulerConfig, BoundsTheTenantsShares) {
  expect_refused({.max_running_per_tenant = -1}, "scheduler.max_running_per_tenant");
  expect_accepted({.max_running_per_tenant = 0});
  expect_accepted({.max_running_per_tenant = 4096});
  expect_refused({.max_running_per_tenant = 4097}, "scheduler.max_running_per_tenant");
  expect_refused({.max_queued_per_tenant = -1}, "scheduler.max_queued_per_tenant");
  expect_accepted({.max_queued_per_tenant = 1'000'000});
  expect_refused({.max_queued_per_tenant = 1'000'001}, "scheduler.max_queued_per_tenant");
}

TEST(SchedulerConfig, BoundsThePauseTarget) {
  expect_refused({.pause_target = 0}, "scheduler.pause_target");
  expect_accepted({.pause_target = 0.0001});
  expect_accepted({.pause_target = 0.5});
  expect_refused({.pause_target = 0.51}, "scheduler.pause_target");
  expect_refused({.pause_target = std::numeric_limits<double>::quiet_NaN()}, "scheduler.pause_target");
}

TEST(SchedulerConfig, RefusesPoliciesThatDoNotExist) {
  for (const char* policy : {"adaptive", "plan", "reserve"}) expect_accepted({.admission = policy});
  for (const char* policy : {"", "Reserve", "none"}) expect_refused({.admission = policy}, "scheduler.admission");
}

TEST(SchedulerConfig, QuotesOnlyTheBeginningOfALongText) {
  const SchedulerConfig config{.admission = std::string(100'000, 'x')};
  EXPECT_LT(config.validate().message().size(), 200U);
}

TEST(SchedulerConfig, ChangesWithinTheMemoryTakenAtStart) {
  const SchedulerConfig first{.max_running = 64, .tokens_per_step = 512};
  EXPECT_EQ(first.check_change(first), Status());
  EXPECT_EQ(first.check_change({.max_running = 1, .tokens_per_step = 1}), Status());
  EXPECT_EQ(first.check_change({.max_running = 64, .max_queued_requests = 100'000, .admission = "plan"}), Status());
  EXPECT_EQ(first.check_change({.max_running = 65}).field(), "scheduler.max_running");
  EXPECT_EQ(first.check_change({.tokens_per_step = 513}).field(), "scheduler.tokens_per_step");
  EXPECT_THAT(first.check_change({.tokens_per_step = 513}).message(), HasSubstr("for 512"));
  EXPECT_EQ(first.check_change({.admission = "none"}).field(), "scheduler.admission") << "what is wrong by itself";
}

TEST(SchedulerConfig, NamesTheLargestStep) {
  const SchedulerConfig config{.max_running = 64, .tokens_per_step = 70};
  EXPECT_EQ(config.step_tokens_max(7), 70);  // 63 rows decode, 7 tokens are left
  EXPECT_EQ(config.step_tokens_max(8), 71);  // 63 rows decode, the floor is 8
  EXPECT_EQ(config.step_tokens_max(16), 79);
}

}  // namespace
}  // namespace sluice::scheduler
