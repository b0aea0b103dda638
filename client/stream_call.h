#pragma once

#include <functional>
#include <string>

#include <grpcpp/client_context.h>

#include "base/status.h"
#include "client/stream_end.h"
#include "sluice/v1/inference.grpc.pb.h"

namespace sluice::client {

/// One streamed completion in flight, without a thread of its own: gRPC's threads call the handlers, one at a time. It
/// lives until on_done has been called, and may be destroyed in it.
class StreamCall final : private grpc::ClientReadReactor<v1::CompleteEvent> {
 public:
  struct Handlers {
    std::function<void(const v1::CompleteEvent&)> on_event;
    /// Called once, last. OK only when the answer is whole.
    std::function<void(Status)> on_done;
  };

  /// `explain` turns the end of the gRPC call into ours.
  using Explain = std::function<Status(const grpc::Status&, const grpc::ClientContext&)>;

  /// The stub is lent and outlives the call. `prepare` is called at once.
  StreamCall(v1::Inference::Stub& stub, v1::CompleteRequest request,
             const std::function<void(grpc::ClientContext&)>& prepare, Handlers handlers, Explain explain);

  /// Sends the request, once. The handlers may be called before this returns, on another thread.
  void start();
  /// Any thread, while the call lives.
  void cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  v1::Inference::Stub& stub_;
  const v1::CompleteRequest request_;
  const Explain explain_;
  grpc::ClientContext context_;
  Handlers handlers_;
  v1::CompleteEvent event_;
  StreamEnd end_;
};

}  // namespace sluice::client
