#include "server/health_teller.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/kept_log.h"
#include "tests/server/raw_calls.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What is told to a log and to who serves.
class HealthTellerTest : public ::testing::Test {
 protected:
  /// What is in the log since this was last asked.
  std::string said() {
    const std::string text = log_.text();
    return text.substr(std::exchange(read_, text.size()));
  }

  KeptLog log_;
  size_t read_ = 0;
};

TEST_F(HealthTellerTest, TellsEachChangeOnce) {
  std::vector<bool> told;
  HealthTeller teller([&](bool serving) { told.push_back(serving); }, log_.logger());
  teller.tell({});
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(told, IsEmpty());
  teller.tell({HealthState::kFailing, "the last 3 steps failed"});
  EXPECT_THAT(said(), HasSubstr("ERROR the engine fails: requests are still tried, but if it stays so, restart the "
                                "daemon why=\"the last 3 steps failed\"\n"));
  teller.tell({HealthState::kFailing, "the last 4 steps failed"});
  EXPECT_THAT(said(), IsEmpty());
  teller.tell({HealthState::kStalled, "a tick takes too long"});
  EXPECT_THAT(said(), HasSubstr("ERROR the serving loop is stalled"));
  teller.tell({});
  EXPECT_THAT(said(), HasSubstr("INFO the serving loop makes progress again"));
  EXPECT_EQ(told, std::vector({false, false, true}));
}

// A device that is gone, and comes back.
TEST_F(HealthTellerTest, ADaemonWhoseStepsAllFailServesNotUntilOneSucceeds) {
  TestDaemon daemon;
  HealthTeller teller([&](bool serving) { daemon.server().set_serving(serving); }, log_.logger());
  const auto channel = daemon.new_channel();
  const auto stub = daemon.new_stub();
  for (int32_t failed = 1; failed <= kFailedStepsInARow; ++failed) {
    teller.tell(daemon.core().health());
    EXPECT_EQ(health_status(channel, ""), 1) << failed - 1 << " have failed";
    daemon.executor().fail_next_step(unavailable("the device is gone"));
    const StreamedAnswer answer = stream(*stub, make_request("x", 2));
    ASSERT_TRUE(answer.status.ok());
    EXPECT_EQ(answer.last().error().message(), "the engine failed: the device is gone");
  }
  EXPECT_EQ(daemon.core().health().reason, "the last 3 steps failed, the last one with: the device is gone");
  teller.tell(daemon.core().health());
  EXPECT_EQ(health_status(channel, ""), 2);
  EXPECT_EQ(health_status(channel, "sluice.v1.Inference"), 2);

  EXPECT_EQ(stream(*stub, make_request("x", 2)).text(), "ab") << "requests are still tried";
  teller.tell(daemon.core().health());
  EXPECT_EQ(health_status(channel, ""), 1);
}

}  // namespace
}  // namespace sluice::server
