#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include <grpcpp/server.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "sluice/v1/inference.grpc.pb.h"

namespace sluice::test_support {

using EventWriter = grpc::ServerWriter<v1::CompleteEvent>;

/// What the server answers, call by call, on a thread per call. An empty function is UNIMPLEMENTED.
struct Script {
  std::function<grpc::Status(grpc::ServerContext&, const v1::CompleteRequest&, EventWriter&)> stream_complete = {};
  std::function<grpc::Status(const v1::CompleteRequest&, v1::CompleteResponse&)> complete = {};
  std::function<grpc::Status(const v1::TokenizeRequest&, v1::TokenizeResponse&)> tokenize = {};
  std::function<grpc::Status(const v1::DetokenizeRequest&, v1::DetokenizeResponse&)> detokenize = {};
  std::function<grpc::Status(v1::GetModelResponse&)> get_model = {};
  std::function<grpc::Status(v1::GetLoadResponse&)> get_load = {};
};

/// A gRPC server on loopback that follows a script, with a health service. Stops, cancelling what runs, when it is
/// destroyed.
class ScriptedServer {
 public:
  /// Listens on a free port, or at `address` if one is given ("unix:PATH").
  explicit ScriptedServer(Script script, const std::string& address = "127.0.0.1:0");
  ~ScriptedServer();

  const std::string& address() const { return address_; }
  void set_serving(bool is_serving);

 private:
  class Service;

  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

/// Closed until opened, then open for good.
class Gate {
 public:
  void open();
  void wait();
  /// For a scripted service time: returns at `until` or when the gate opens.
  void wait_until(TimePoint until);

 private:
  Mutex mutex_;
  CondVar opened_;
  bool is_open_ SLUICE_GUARDED_BY(mutex_) = false;
};

v1::CompleteEvent prompt_info_event(int32_t prompt_tokens);
v1::CompleteEvent tokens_event(const std::string& text, std::initializer_list<int32_t> ids, int32_t index = 0);
/// The last event: with usage.
v1::CompleteEvent finished_event(int32_t prompt_tokens, int32_t completion_tokens,
                                 v1::FinishReason reason = v1::FINISH_REASON_LENGTH);
v1::CompleteEvent error_event(grpc::StatusCode code, const std::string& message);

/// A small model that a benchmark can be run against: 100 tokens, bos 1, end 2, context 1024.
grpc::Status small_model(v1::GetModelResponse& response);
/// Answers at once, with exactly max_tokens tokens, one per event.
grpc::Status answer_at_once(const v1::CompleteRequest& request, EventWriter& writer);

}  // namespace sluice::test_support
