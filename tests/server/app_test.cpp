#include "server/app.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "tests/server/kept_log.h"
#include "tests/server/raw_calls.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// An App on the tiny model, on free ports, logging to a temporary file.
class AppTest : public ::testing::Test {
 protected:
  AppTest() {
    config_.model.path = SLUICE_SOURCE_DIR "/tests/data/gguf/T_base.gguf";
    config_.server.grpc_listen = "127.0.0.1:0";
    config_.server.http_listen = "127.0.0.1:0";
    config_.server.admin_listen = "127.0.0.1:0";
    config_.kv.memory = "1MiB";
    config_.engine.threads = 1;
  }

  AppEnvironment environment() {
    return {clock_, [] { return std::chrono::system_clock::now(); }, log_.logger(), 1, {}, "0"};
  }

  Status start_error() {
    App app(config_, environment());
    return app.start();
  }

  KeptLog log_;
  const SteadyClock clock_;
  Config config_;
};

TEST_F(AppTest, AMissingModelIsNamed) {
  config_.model.path = "/nowhere/model.gguf";
  EXPECT_THAT(start_error().message(), HasSubstr("/nowhere/model.gguf"));
}

TEST_F(AppTest, ABusyPortIsFoundBeforeTheModelIsRead) {
  App first(config_, environment());
  ASSERT_TRUE(first.start().ok());
  config_.model.path = "/nowhere/model.gguf";
  config_.server.grpc_listen = first.grpc_address().text();
  EXPECT_THAT(start_error().message(), HasSubstr(first.grpc_address().text()));
  config_.server.grpc_listen = "127.0.0.1:0";
  config_.server.http_listen = first.http_address().text();
  EXPECT_THAT(start_error().message(), HasSubstr(first.http_address().text()));
}

TEST_F(AppTest, TooLittleMemoryNamesTheKey) {
  config_.kv.memory = "100";
  EXPECT_THAT(start_error().message(), HasSubstr("kv.memory"));
}

TEST_F(AppTest, MoreMemoryThanThereIsNamesTheKey) {
  config_.kv.memory = "900000GiB";
  EXPECT_THAT(start_error().message(), HasSubstr("kv.memory"));
}

TEST_F(AppTest, ATypeOfCacheThatTheCpuDoesntHaveNamesTheKey) {
  config_.engine.device = "cpu";
  config_.kv.dtype = "fp8";
  EXPECT_EQ(start_error().message(), "kv.dtype is fp8, which can't be had on the CPU; use int8");
}

TEST_F(AppTest, MoreContextThanTheModelHasIsRefused) {
  config_.model.max_context = 1 << 24;
  EXPECT_THAT(start_error().message(), StartsWith("model.max_context"));
}

TEST_F(AppTest, B35_MultiGpu_a_RanksThatCanNotShareTheModelAreRefusedBeforeAnyWeightIsRead) {
  config_.engine.tensor_parallel = 3;
  EXPECT_THAT(start_error().message(),
              AllOf(StartsWith("engine.tensor_parallel is 3, but the model has "), HasSubstr(" divide them all")));
}

TEST_F(AppTest, AStartedAppAnswersAndSaysWhere) {
  config_.model.name = "tiny \"one\"";
  App app(config_, environment());
  const Status started = app.start();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_THAT(app.ready_line(), HasSubstr("\"grpc\":\"" + app.grpc_address().text() + "\""));
  EXPECT_THAT(app.ready_line(), HasSubstr("\"http\":\"" + app.http_address().text() + "\""));
  EXPECT_THAT(app.ready_line(), HasSubstr(R"("model":"tiny \"one\"")"));
  EXPECT_EQ(app.ready_line().find('\n'), std::string::npos);
  const auto channel = grpc::CreateChannel(app.grpc_address().text(), grpc::InsecureChannelCredentials());
  const auto stub = v1::Inference::NewStub(channel);
  const StreamedAnswer answer = stream(*stub, make_request("The quick brown fox", 3));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.last().finished().usage().completion_tokens(), 3);
  app.update();
  EXPECT_EQ(health_status(channel, "sluice.v1.Inference"), 1);
}

TEST_F(AppTest, DrainedItListensNoMore) {
  App app(config_, environment());
  ASSERT_TRUE(app.start().ok());
  const auto channel = grpc::CreateChannel(app.grpc_address().text(), grpc::InsecureChannelCredentials());
  EXPECT_EQ(health_status(channel, ""), 1);
  app.drain();
  EXPECT_EQ(health_status(channel, ""), -1);
}

}  // namespace
}  // namespace sluice::server
