#include "client/inference_client.h"

#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "client/grpc_status.h"
#include "client/health_watch.h"
#include "client/stream_end.h"

namespace sluice::client {
namespace {

constexpr int kMessageBytesMax = 64 << 20;
constexpr int kKeepaliveTimeMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// A daemon that is just starting should be found soon, not after gRPC's default of up to two minutes.
constexpr int kReconnectMinMs = 100;
constexpr int kReconnectMaxMs = 1'000;

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMinMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMs);
  // A proxy that is set for the web would swallow calls to 127.0.0.1.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

/// A span, which gRPC counts from when the call starts, by its own clock.
gpr_timespec deadline_after(std::chrono::milliseconds timeout) {
  return gpr_time_from_millis(timeout.count(), GPR_TIMESPAN);
}

}  // namespace

InferenceClient::InferenceClient(std::string address, const Identity& identity)
    : address_(std::move(address)),
      api_key_(identity.api_key),
      channel_(grpc::CreateCustomChannel(address_, identity.channel, channel_arguments())),
      stub_(v1::Inference::NewStub(channel_)),
      control_(v1::Control::NewStub(channel_)) {}

void InferenceClient::apply(const CallOptions& options, grpc::ClientContext& context) const {
  if (options.timeout.count() > 0) context.set_deadline(deadline_after(options.timeout));
  if (!options.tenant.empty()) context.AddMetadata("x-tenant", options.tenant);
  if (!api_key_.empty()) context.AddMetadata("authorization", "Bearer " + api_key_);
}

Status InferenceClient::cannot_connect(const std::string& why) const {
  return unavailable("cannot connect to " + address_ + " (" + why +
                     "): is sluiced running? start it with: sluiced --grpc-listen " + address_);
}

Status InferenceClient::end_of_call(const grpc::Status& status, const grpc::ClientContext& context) const {
  const bool never_arrived = status.error_code() == grpc::StatusCode::UNAVAILABLE &&
                             channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_TRANSIENT_FAILURE;
  return never_arrived ? cannot_connect(status.error_message()) : to_status(status, context);
}

template <typename Request, typename Method>
Status InferenceClient::stream(Method method, const Request& request, const OnEvent& on_event,
                               const CallOptions& options) {
  grpc::ClientContext context;
  apply(options, context);
  const Cancellation::Scope scope(options.cancellation, context);
  const auto reader = (*stub_.*method)(&context, request);
  StreamEnd end;
  v1::CompleteEvent event;
  while (reader->Read(&event)) {
    end.observe(event);
    on_event(event);
  }
  return end.status(end_of_call(reader->Finish(), context));
}

Status InferenceClient::stream_complete(const v1::CompleteRequest& request, const OnEvent& on_event,
                                        const CallOptions& options) {
  return stream(&v1::Inference::Stub::StreamComplete, request, on_event, options);
}

Status InferenceClient::stream_chat(const v1::ChatRequest& request, const OnEvent& on_event,
                                    const CallOptions& options) {
  return stream(&v1::Inference::Stub::StreamChat, request, on_event, options);
}

template <typename Stub, typename Request, typename Response>
Result<Response> InferenceClient::call_once(Stub& stub,
                                            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                                         Response*),
                                            const Request& request, const CallOptions& options) {
  grpc::ClientContext context;
  apply(options, context);
  const Cancellation::Scope scope(options.cancellation, context);
  Response response;
  SLUICE_RETURN_IF_ERROR(end_of_call((stub.*method)(&context, request, &response), context));
  return response;
}

Result<v1::CompleteResponse> InferenceClient::complete(const v1::CompleteRequest& request, const CallOptions& options) {
  return call_once(*stub_, &v1::Inference::Stub::Complete, request, options);
}

Result<v1::TokenizeResponse> InferenceClient::tokenize(const v1::TokenizeRequest& request, const CallOptions& options) {
  return call_once(*stub_, &v1::Inference::Stub::Tokenize, request, options);
}

Result<v1::DetokenizeResponse> InferenceClient::detokenize(const v1::DetokenizeRequest& request,
                                                           const CallOptions& options) {
  return call_once(*stub_, &v1::Inference::Stub::Detokenize, request, options);
}

Result<v1::GetModelResponse> InferenceClient::get_model(const CallOptions& options) {
  return call_once(*stub_, &v1::Inference::Stub::GetModel, v1::GetModelRequest(), options);
}

Result<v1::GetLoadResponse> InferenceClient::get_load(const CallOptions& options) {
  return call_once(*stub_, &v1::Inference::Stub::GetLoad, v1::GetLoadRequest(), options);
}

Result<v1::ExplainResponse> InferenceClient::explain(const v1::CompleteRequest& request, const CallOptions& options) {
  return call_once(*stub_, &v1::Inference::Stub::Explain, request, options);
}

Result<v1::Limits> InferenceClient::get_limits(const CallOptions& options) {
  return call_once(*control_, &v1::Control::Stub::GetLimits, v1::GetLimitsRequest(), options);
}

Result<v1::Limits> InferenceClient::set_limits(const v1::Limits& limits, const CallOptions& options) {
  return call_once(*control_, &v1::Control::Stub::SetLimits, limits, options);
}

Status InferenceClient::wait_until_ready(std::chrono::milliseconds timeout, Cancellation* cancellation) {
  grpc::ClientContext context;
  const Cancellation::Scope scope(cancellation, context);
  context.set_deadline(deadline_after(timeout));
  // A daemon that is still starting is waited for, not a failure.
  context.set_wait_for_ready(true);
  const Status watched = watch_until_serving(channel_, context);
  if (watched.code() != StatusCode::kDeadlineExceeded) return watched;
  return deadline_exceeded(address_ + " was not ready within " + std::to_string(timeout.count()) + " ms");
}

std::unique_ptr<StreamCall> InferenceClient::make_stream(v1::CompleteRequest request, StreamCall::Handlers handlers,
                                                         const std::string& tenant) {
  const auto prepare = [&](grpc::ClientContext& context) { apply({.tenant = tenant}, context); };
  return std::make_unique<StreamCall>(
      *stub_, std::move(request), prepare, std::move(handlers),
      [this](const grpc::Status& status, const grpc::ClientContext& context) { return end_of_call(status, context); });
}

}  // namespace sluice::client
