#pragma once

#include <memory>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/mutex.h"
#include "server/completion_collector.h"
#include "server/completion_sink.h"
#include "server/grpc_front.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

/// One Complete call: collects the events and answers once. Kept alive as GrpcStreamCall is. Thread-safe.
class GrpcUnaryCall final : public grpc::ServerUnaryReactor,
                            public CompletionSink,
                            public std::enable_shared_from_this<GrpcUnaryCall> {
 public:
  /// Submits the request; the reactor is what gRPC wants from the method. Context and response live until OnDone.
  static grpc::ServerUnaryReactor* start(const GrpcFront& front, grpc::CallbackServerContext& context,
                                         const v1::CompleteRequest& request, AskKind kind, grpc::ByteBuffer& response);

  GrpcUnaryCall(const GrpcFront& front, grpc::CallbackServerContext& context, grpc::ByteBuffer& response);

  Delivery deliver(CompletionEvent event) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void submit(const v1::CompleteRequest& request, AskKind kind);
  bool begin_end();
  void answer();

  const GrpcFront& front_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& response_;
  const RequestId id_;
  std::shared_ptr<GrpcUnaryCall> until_done_;  // gRPC's share of the ownership
  CompletionCollector collector_;              // stream pool's thread only

  Mutex mutex_;
  bool ended_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::server
