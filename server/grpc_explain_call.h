#pragma once

#include <memory>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/grpc_front.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

/// One Explain call: asks the loop and answers when it has. Kept alive as GrpcStreamCall is.
class GrpcExplainCall final : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<GrpcExplainCall> {
 public:
  static grpc::ServerUnaryReactor* start(const GrpcFront& front, grpc::CallbackServerContext& context,
                                         const v1::CompleteRequest& request, grpc::ByteBuffer& response);

  explicit GrpcExplainCall(const GrpcFront& front, grpc::ByteBuffer& response) : front_(front), response_(response) {}

  void OnDone() override;

 private:
  Status ask(const grpc::CallbackServerContext& context, const v1::CompleteRequest& request);
  void answer(const Result<scheduler::Explanation>& explanation);

  const GrpcFront& front_;
  grpc::ByteBuffer& response_;
  std::shared_ptr<GrpcExplainCall> until_done_;  // gRPC's share of the ownership
};

}  // namespace sluice::server
