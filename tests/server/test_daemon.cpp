#include "tests/server/test_daemon.h"

#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

namespace sluice::server {

TestDaemon::TestDaemon(TestDaemonOptions options)
    : model_(byte_model(*tokenizer_, options.context_length, options.block_count * options.config.kv.block_size)),
      access_(Access::open(options.config.security.api_keys_path).value()),
      executor_(byte_ids(options.script)),
      core_(options.config, ServingCoreParts{.model = model_,
                                             .access = *access_,
                                             .executor = executor_,
                                             .clock = clock_,
                                             .wall_clock = [] { return std::chrono::system_clock::now(); },
                                             .logger = logger_,
                                             .chat_prompter = options.chat_prompter,
                                             .seed = 1,
                                             .block_count = options.block_count,
                                             .growth = {options.config.kv.block_size}}),
      http_front_{.intake = core_.intake(),
                  .live_calls = core_.front().live_calls,
                  .wall_clock = core_.front().wall_clock,
                  .stream_buffer_tokens = core_.front().stream_buffer_tokens,
                  .answer_bytes_max = core_.front().message_bytes_max,
                  .started = 1'700'000'000,
                  .chat_prompter = core_.front().chat_prompter} {
  auto server = GrpcServer::start({"127.0.0.1", 0}, kGrpcListen, grpc_options(options.config),
                                  {{v1::Inference::service_full_name(), services_.inference},
                                   {v1::Control::service_full_name(), services_.control}});
  SLUICE_CHECK(server.ok());
  server_ = std::move(server).value();
  services_.open(core_.front());
  server_->set_serving(true);
  http_api_.open(http_front_);
  auto http_server = HttpServer::start({"127.0.0.1", 0}, http_api_.routes(), options.http_limits);
  SLUICE_CHECK(http_server.ok());
  http_server_ = std::move(http_server).value();
}

TestDaemon::~TestDaemon() {
  http_server_->stop();
  server_->stop(Duration{});
  executor_.release();
}

std::shared_ptr<grpc::Channel> TestDaemon::new_channel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 << 20);
  arguments.SetMaxSendMessageSize(64 << 20);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments);
}

std::unique_ptr<v1::Inference::Stub> TestDaemon::new_stub() {
  return v1::Inference::NewStub(new_channel());
}

bool TestDaemon::calls_end() const {
  return core_.front().live_calls.wait_none_until(clock_.now() + kHangs);
}

bool TestDaemon::becomes_idle() const {
  const scheduler::LoopStats& stats = core_.stats();
  return eventually([&] { return stats.running == 0 && stats.waiting == 0 && stats.blocks_used == 0; });
}

v1::CompleteRequest make_request(const std::string& text, int32_t max_tokens) {
  v1::CompleteRequest request;
  request.set_text(text);
  request.mutable_sampling()->set_temperature(0);
  request.mutable_stopping()->set_max_tokens(max_tokens);
  return request;
}

std::string StreamedAnswer::text(int32_t choice) const {
  std::string text;
  for (const v1::CompleteEvent& event : events) {
    if (event.has_tokens() && event.tokens().index() == choice) text += event.tokens().text();
  }
  return text;
}

StreamedAnswer stream(v1::Inference::Stub& stub, const v1::CompleteRequest& request) {
  grpc::ClientContext context;
  StreamedAnswer answer;
  const auto reader = stub.StreamComplete(&context, request);
  v1::CompleteEvent event;
  while (reader->Read(&event)) answer.events.push_back(event);
  answer.status = reader->Finish();
  return answer;
}

}  // namespace sluice::server
