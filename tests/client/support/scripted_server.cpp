#include "tests/client/support/scripted_server.h"

#include <utility>

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "base/check.h"

namespace sluice::test_support {
namespace {

constexpr int kMessageBytesMax = 64 << 20;

template <typename Function, typename... Arguments>
grpc::Status follow(const Function& function, Arguments&&... arguments) {
  if (!function) return {grpc::StatusCode::UNIMPLEMENTED, "not in the script"};
  return function(std::forward<Arguments>(arguments)...);
}

}  // namespace

class ScriptedServer::Service final : public v1::Inference::Service {
 public:
  explicit Service(Script script) : script_(std::move(script)) {}

  grpc::Status StreamComplete(grpc::ServerContext* context, const v1::CompleteRequest* request,
                              EventWriter* writer) override {
    return follow(script_.stream_complete, *context, *request, *writer);
  }
  grpc::Status Complete(grpc::ServerContext*, const v1::CompleteRequest* request,
                        v1::CompleteResponse* response) override {
    return follow(script_.complete, *request, *response);
  }
  grpc::Status Tokenize(grpc::ServerContext*, const v1::TokenizeRequest* request,
                        v1::TokenizeResponse* response) override {
    return follow(script_.tokenize, *request, *response);
  }
  grpc::Status Detokenize(grpc::ServerContext*, const v1::DetokenizeRequest* request,
                          v1::DetokenizeResponse* response) override {
    return follow(script_.detokenize, *request, *response);
  }
  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest*, v1::GetModelResponse* response) override {
    return follow(script_.get_model, *response);
  }
  grpc::Status GetLoad(grpc::ServerContext*, const v1::GetLoadRequest*, v1::GetLoadResponse* response) override {
    return follow(script_.get_load, *response);
  }

 private:
  const Script script_;
};

ScriptedServer::ScriptedServer(Script script, const std::string& address)
    : service_(std::make_unique<Service>(std::move(script))), address_(address) {
  grpc::EnableDefaultHealthCheckService(true);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  SLUICE_CHECK(server_ != nullptr);
  if (!address.starts_with("unix:")) address_ = "127.0.0.1:" + std::to_string(port);
}

ScriptedServer::~ScriptedServer() {
  server_->Shutdown(std::chrono::system_clock::time_point::min());
}

void ScriptedServer::set_serving(bool is_serving) {
  server_->GetHealthCheckService()->SetServingStatus(is_serving);
}

void Gate::open() {
  const MutexLock lock(mutex_);
  is_open_ = true;
  opened_.notify_all();
}

void Gate::wait() {
  const MutexLock lock(mutex_);
  while (!is_open_) opened_.wait(mutex_);
}

void Gate::wait_until(TimePoint until) {
  const MutexLock lock(mutex_);
  while (!is_open_) {
    if (opened_.wait_until(mutex_, until) == std::cv_status::timeout) return;
  }
}

v1::CompleteEvent prompt_info_event(int32_t prompt_tokens) {
  v1::CompleteEvent event;
  event.mutable_prompt_info()->set_request_id("r-1");
  event.mutable_prompt_info()->set_model("small");
  event.mutable_prompt_info()->set_prompt_tokens(prompt_tokens);
  return event;
}

v1::CompleteEvent tokens_event(const std::string& text, std::initializer_list<int32_t> ids, int32_t index) {
  v1::CompleteEvent event;
  event.mutable_tokens()->set_index(index);
  event.mutable_tokens()->set_text(text);
  for (const int32_t id : ids) event.mutable_tokens()->add_tokens()->set_id(id);
  return event;
}

v1::CompleteEvent finished_event(int32_t prompt_tokens, int32_t completion_tokens, v1::FinishReason reason) {
  v1::CompleteEvent event;
  event.mutable_finished()->set_reason(reason);
  event.mutable_finished()->mutable_usage()->set_prompt_tokens(prompt_tokens);
  event.mutable_finished()->mutable_usage()->set_completion_tokens(completion_tokens);
  event.mutable_finished()->mutable_ledger()->set_queue_ms(1.5);
  return event;
}

v1::CompleteEvent error_event(grpc::StatusCode code, const std::string& message) {
  v1::CompleteEvent event;
  event.mutable_error()->set_code(code);
  event.mutable_error()->set_message(message);
  return event;
}

grpc::Status small_model(v1::GetModelResponse& response) {
  response.set_name("small");
  response.set_architecture("llama");
  response.set_vocab_size(100);
  response.set_context_length(1024);
  response.set_parameter_count(123456);
  response.set_bos_id(1);
  response.add_end_ids(2);
  response.set_device("cpu");
  response.set_version("0.1.0");
  return grpc::Status::OK;
}

grpc::Status answer_at_once(const v1::CompleteRequest& request, EventWriter& writer) {
  const int32_t tokens = request.stopping().max_tokens();
  writer.Write(prompt_info_event(request.token_ids().ids_size()));
  for (int32_t i = 0; i < tokens; ++i) writer.Write(tokens_event("a", {i}));
  writer.Write(finished_event(request.token_ids().ids_size(), tokens));
  return grpc::Status::OK;
}

}  // namespace sluice::test_support
