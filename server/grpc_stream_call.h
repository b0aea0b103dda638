#pragma once

#include <memory>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/mutex.h"
#include "server/completion_sink.h"
#include "server/grpc_front.h"
#include "server/stream_buffer.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

/// One StreamComplete call. At most one write is in flight; what comes meanwhile waits in the buffer.
///
/// gRPC and the session both keep the call alive: gRPC until OnDone, the session until the loop has finished with the
/// request; either may be the last. Thread-safe.
class GrpcStreamCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                             public CompletionSink,
                             public std::enable_shared_from_this<GrpcStreamCall> {
 public:
  /// Submits the request; the reactor is what gRPC wants from the method. The context lives until OnDone.
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* start(const GrpcFront& front, grpc::CallbackServerContext& context,
                                                           const v1::CompleteRequest& request, AskKind kind);

  GrpcStreamCall(const GrpcFront& front, grpc::CallbackServerContext& context);

  Delivery deliver(CompletionEvent event) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void submit(const v1::CompleteRequest& request, AskKind kind);
  bool take_turn();
  void write_next();
  void write(const CompletionEvent& event);
  void end(const Status& status);

  const GrpcFront& front_;
  grpc::CallbackServerContext& context_;
  const RequestId id_;
  std::shared_ptr<GrpcStreamCall> until_done_;  // gRPC's share of the ownership
  grpc::ByteBuffer message_;                    // the write in flight; belongs to whoever has the turn

  Mutex mutex_;
  StreamBuffer buffer_ SLUICE_GUARDED_BY(mutex_);
  /// Somebody has the turn: a write is in flight or being made, or the call has ended. Only who has the turn writes or
  /// ends.
  bool turn_is_taken_ SLUICE_GUARDED_BY(mutex_) = false;
  bool cancelled_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::server
