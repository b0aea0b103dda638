#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>

#include "base/logger.h"
#include "server/grpc_server.h"
#include "server/grpc_services.h"
#include "server/http_api.h"
#include "server/http_server.h"
#include "server/serving_core.h"
#include "sluice/v1/inference.grpc.pb.h"
#include "tests/server/byte_model.h"
#include "tests/server/scripted_executor.h"

namespace sluice::server {

struct TestDaemonOptions {
  Config config;
  int32_t block_count = 64;
  int32_t context_length = 512;
  std::string script = "abcdefghij";
  ChatPrompter chat_prompter = [](const ChatPromptInput&) -> Result<std::vector<int32_t>> {
    return failed_precondition("this model has no usable chat template");
  };
  HttpLimits http_limits = {};
};

/// The serving core on a scripted engine, behind real gRPC and HTTP ports on loopback.
class TestDaemon {
 public:
  explicit TestDaemon(TestDaemonOptions options = {});
  ~TestDaemon();

  /// A stub on a connection of its own.
  std::unique_ptr<v1::Inference::Stub> new_stub();
  std::shared_ptr<grpc::Channel> new_channel();
  std::string address() const { return server_->address().text(); }
  const ListenAddress& http_address() const { return http_server_->address(); }

  ScriptedExecutor& executor() { return executor_; }
  ServingCore& core() { return core_; }
  GrpcServer& server() { return *server_; }
  const Clock& clock() const { return clock_; }

  /// Until the daemon has no call any more, so it has seen all cancels; false when that hangs.
  bool calls_end() const;
  /// Until the loop holds no request and no block; false when that hangs.
  bool becomes_idle() const;

 private:
  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  const SteadyClock clock_;
  ServedModel model_;
  const std::unique_ptr<Access> access_;
  ScriptedExecutor executor_;
  Logger logger_{stderr, LogLevel::kError, [] { return std::chrono::system_clock::now(); }};
  ServingCore core_;
  GrpcServices services_;
  HttpFront http_front_;
  HttpApi http_api_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<HttpServer> http_server_;
};

/// A greedy request for `max_tokens` tokens after `text`.
v1::CompleteRequest make_request(const std::string& text, int32_t max_tokens);

/// Every event of a stream, and how it ended.
struct StreamedAnswer {
  std::vector<v1::CompleteEvent> events;
  grpc::Status status;

  std::string text(int32_t choice = 0) const;
  const v1::CompleteEvent& last() const { return events.back(); }
};
StreamedAnswer stream(v1::Inference::Stub& stub, const v1::CompleteRequest& request);

/// Bounds what hangs, on a machine that others use too.
constexpr std::chrono::seconds kHangs{60};

/// Yields the processor until `condition` holds; false when it hangs.
template <typename Condition>
bool eventually(const Condition& condition) {
  const SteadyClock clock;
  const TimePoint deadline = clock.now() + kHangs;
  while (!condition()) {
    if (clock.now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace sluice::server
