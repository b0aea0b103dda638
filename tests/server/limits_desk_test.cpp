#include "server/limits_desk.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/kept_log.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

class LimitsDeskTest : public ::testing::Test {
 protected:
  std::vector<scheduler::Command> posted() {
    std::vector<scheduler::Command> commands;
    mailbox_.take(commands);
    return commands;
  }

  KeptLog log_;
  scheduler::Mailbox mailbox_{1};
  LimitsDesk desk_{{}, mailbox_, log_.logger()};
};

TEST_F(LimitsDeskTest, AChangeReachesTheLoopAndTheLog) {
  const auto changed = desk_.change("somebody", [](scheduler::SchedulerConfig& limits) { limits.max_running = 8; });
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->max_running, 8);
  EXPECT_EQ(desk_.current().max_running, 8);
  const std::vector<scheduler::Command> commands = posted();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(std::get<scheduler::SetLimits>(commands.front()).limits.max_running, 8);
  EXPECT_THAT(log_.text(), HasSubstr("somebody"));
  EXPECT_THAT(log_.text(), HasSubstr("scheduler.max_running 64 -> 8"));
}

TEST_F(LimitsDeskTest, WhatWasLoweredCanBeRaisedToWhereItBegan) {
  ASSERT_TRUE(desk_.change("", [](auto& limits) { limits.max_running = 8; }).ok());
  EXPECT_TRUE(desk_.change("", [](auto& limits) { limits.max_running = 64; }).ok());
  const auto beyond = desk_.change("", [](auto& limits) { limits.max_running = 65; });
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.status().field(), "scheduler.max_running");
  EXPECT_EQ(desk_.current().max_running, 64);
}

TEST_F(LimitsDeskTest, ARefusedOrEmptyChangeTellsNobody) {
  EXPECT_FALSE(desk_.change("", [](auto& limits) { limits.admission = "none"; }).ok());
  EXPECT_TRUE(desk_.change("", [](auto&) {}).ok());
  EXPECT_TRUE(posted().empty());
  EXPECT_EQ(log_.text(), "");
}

}  // namespace
}  // namespace sluice::server
