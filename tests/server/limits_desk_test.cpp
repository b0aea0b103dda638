#include "server/limits_desk.h"

#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

class LimitsDeskTest : public ::testing::Test {
 protected:
  ~LimitsDeskTest() override { std::fclose(log_file_); }

  std::string log() const {
    std::rewind(log_file_);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), log_file_));
    return text;
  }
  std::vector<scheduler::Command> posted() {
    std::vector<scheduler::Command> commands;
    mailbox_.take(commands);
    return commands;
  }

  std::FILE* const log_file_ = std::tmpfile();
  Logger logger_{log_file_, LogLevel::kInfo, [] { return std::chrono::system_clock::time_point(); }};
  scheduler::Mailbox mailbox_{1};
  LimitsDesk desk_{{}, mailbox_, logger_};
};

TEST_F(LimitsDeskTest, AChangeReachesTheLoopAndTheLog) {
  const auto changed = desk_.change("somebody", [](scheduler::SchedulerConfig& limits) { limits.max_running = 8; });
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->max_running, 8);
  EXPECT_EQ(desk_.current().max_running, 8);
  const std::vector<scheduler::Command> commands = posted();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(std::get<scheduler::SetLimits>(commands.front()).limits.max_running, 8);
  EXPECT_THAT(log(), HasSubstr("somebody"));
  EXPECT_THAT(log(), HasSubstr("scheduler.max_running 64 -> 8"));
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
  EXPECT_EQ(log(), "");
}

}  // namespace
}  // namespace sluice::server
