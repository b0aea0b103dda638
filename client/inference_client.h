#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/channel.h>

#include "base/status.h"
#include "client/cancellation.h"
#include "client/identity.h"
#include "client/stream_call.h"
#include "sluice/v1/control.grpc.pb.h"
#include "sluice/v1/inference.grpc.pb.h"

namespace sluice::client {

/// Where `sluiced` listens unless it is told otherwise.
inline constexpr const char* kDefaultAddress = "127.0.0.1:50051";
/// The same for its control.
inline constexpr const char* kDefaultAdminAddress = "127.0.0.1:50052";

struct CallOptions {
  std::chrono::milliseconds timeout{0};  ///< the gRPC deadline, from now; 0 is none
  Cancellation* cancellation = nullptr;  ///< lent; null when nobody cancels
  std::string tenant = {};               ///< for whom; sent as metadata x-tenant unless it is empty
};

/// One daemon, by its gRPC address. Failures are Status values: those before acceptance and those of an error event
/// alike; a daemon that cannot be reached is kUnavailable, with what to do about it. Thread-safe; connects at the first
/// call and again after a lost connection. Messages may have up to 64 MiB in each direction.
class InferenceClient {
 public:
  using OnEvent = std::function<void(const v1::CompleteEvent&)>;

  /// `address` is H:P, or unix:PATH. HTTP proxies of the environment are not used.
  explicit InferenceClient(std::string address, const Identity& identity = {});

  /// Gives each event to `on_event`, in order, on this thread, and returns when the stream has ended. OK only when the
  /// answer is whole; what came before a failure has been given.
  Status stream_complete(const v1::CompleteRequest& request, const OnEvent& on_event, const CallOptions& options = {});
  /// The same for a conversation.
  Status stream_chat(const v1::ChatRequest& request, const OnEvent& on_event, const CallOptions& options = {});
  Result<v1::CompleteResponse> complete(const v1::CompleteRequest& request, const CallOptions& options = {});
  Result<v1::TokenizeResponse> tokenize(const v1::TokenizeRequest& request, const CallOptions& options = {});
  Result<v1::DetokenizeResponse> detokenize(const v1::DetokenizeRequest& request, const CallOptions& options = {});
  Result<v1::GetModelResponse> get_model(const CallOptions& options = {});
  Result<v1::GetLoadResponse> get_load(const CallOptions& options = {});
  Result<v1::ExplainResponse> explain(const v1::CompleteRequest& request, const CallOptions& options = {});
  Result<v1::Limits> get_limits(const CallOptions& options = {});
  /// Changes the limits that are set; returns all of them.
  Result<v1::Limits> set_limits(const v1::Limits& limits, const CallOptions& options = {});

  /// Returns once the daemon's health is SERVING, connecting as often as it takes; kDeadlineExceeded when it is not in
  /// time.
  Status wait_until_ready(std::chrono::milliseconds timeout, Cancellation* cancellation = nullptr);

  /// A stream that does not occupy a thread, not started yet. The client outlives it.
  std::unique_ptr<StreamCall> make_stream(v1::CompleteRequest request, StreamCall::Handlers handlers,
                                          const std::string& tenant = {});

 private:
  void apply(const CallOptions& options, grpc::ClientContext& context) const;
  Status end_of_call(const grpc::Status& status, const grpc::ClientContext& context) const;
  Status cannot_connect(const std::string& why) const;
  template <typename Request, typename Method>
  Status stream(Method method, const Request& request, const OnEvent& on_event, const CallOptions& options);
  template <typename Stub, typename Request, typename Response>
  Result<Response> call_once(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                             const Request& request, const CallOptions& options);

  const std::string address_;
  const std::string api_key_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Inference::Stub> stub_;
  const std::unique_ptr<v1::Control::Stub> control_;
};

}  // namespace sluice::client
