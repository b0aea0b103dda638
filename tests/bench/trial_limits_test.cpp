#include "bench/trial_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/limited_daemon.h"

namespace sluice::bench {
namespace {

using test_support::LimitedDaemon;
using testing::HasSubstr;

const LimitSetting kOther{.max_running = 4, .tokens_per_step = 32, .tpot_target_ms = 25};

class TrialLimitsTest : public testing::Test {
 protected:
  LimitedDaemon daemon_;
  client::InferenceClient admin_{daemon_.admin_address()};

  TrialLimits borrow() { return *TrialLimits::borrow(admin_, daemon_.admin_address()); }
  void expect_as_before() {
    EXPECT_EQ(daemon_.limits().max_running(), LimitedDaemon::kMaxRunning);
    EXPECT_EQ(daemon_.limits().tokens_per_step(), LimitedDaemon::kTokensPerStep);
    EXPECT_EQ(daemon_.limits().tpot_target_ms(), 0);
  }
};

TEST_F(TrialLimitsTest, NamesTheOptionWhenNobodyAnswers) {
  daemon_.shut_admin();
  const Result<TrialLimits> limits = TrialLimits::borrow(admin_, daemon_.admin_address());
  ASSERT_FALSE(limits.ok());
  EXPECT_THAT(limits.status().message(), HasSubstr("--admin " + daemon_.admin_address()));
}

TEST_F(TrialLimitsTest, ChangesLimitsAndPutsThemBack) {
  TrialLimits limits = borrow();
  ASSERT_TRUE(limits.set(kOther).ok());
  EXPECT_EQ(daemon_.limits().max_running(), 4);
  EXPECT_EQ(daemon_.limits().tpot_target_ms(), 25);
  EXPECT_TRUE(limits.put_back().ok());
  expect_as_before();
}

TEST_F(TrialLimitsTest, TouchesNothingThatWasNotChanged) {
  TrialLimits limits = borrow();
  EXPECT_TRUE(limits.put_back().ok());
  EXPECT_EQ(daemon_.changes(), 0);
}

TEST_F(TrialLimitsTest, LeavesWhatIsToBeKept) {
  TrialLimits limits = borrow();
  ASSERT_TRUE(limits.set(kOther).ok());
  limits.keep();
  EXPECT_TRUE(limits.put_back().ok());
  EXPECT_EQ(daemon_.limits().max_running(), 4);
}

TEST_F(TrialLimitsTest, PutsLimitsBackThroughAConnectionThatBreaksForAMoment) {
  TrialLimits limits = borrow();
  ASSERT_TRUE(limits.set(kOther).ok());
  daemon_.shut_admin();
  daemon_.open_admin();
  daemon_.refuse_changes(2);
  EXPECT_TRUE(limits.put_back().ok());
  expect_as_before();
}

TEST_F(TrialLimitsTest, SaysWhatToRunWhenTheyCannotBePutBack) {
  TrialLimits limits = borrow();
  ASSERT_TRUE(limits.set(kOther).ok());
  daemon_.refuse_changes(1000);
  const Status status = limits.put_back();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("sluice limits --address " + daemon_.admin_address() +
                                          " --max-running 16 --tokens-per-step 64 --tpot-target-ms 0"));
}

TEST_F(TrialLimitsTest, TellsWhatTheDaemonRefuses) {
  TrialLimits limits = borrow();
  const Status status = limits.set({.max_running = 17, .tokens_per_step = 64});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("scheduler.max_running"));
  EXPECT_TRUE(limits.put_back().ok());
  expect_as_before();
}

}  // namespace
}  // namespace sluice::bench
