#pragma once

#include <atomic>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "server/grpc_front.h"
#include "sluice/v1/inference.grpc.pb.h"

namespace sluice::server {

/// sluice.v1.Inference. Until open() every call is refused with UNAVAILABLE, so the port can be taken before the model
/// is loaded. Thread-safe.
class GrpcService final : public v1::Inference::CallbackService {
 public:
  /// From now on calls are served. `front` is lent and outlives the server.
  void open(const GrpcFront& front) { front_.store(&front); }

  grpc::ServerWriteReactor<v1::CompleteEvent>* StreamComplete(grpc::CallbackServerContext* context,
                                                              const v1::CompleteRequest* request) override;
  grpc::ServerUnaryReactor* Complete(grpc::CallbackServerContext* context, const v1::CompleteRequest* request,
                                     v1::CompleteResponse* response) override;
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context, const v1::TokenizeRequest* request,
                                     v1::TokenizeResponse* response) override;
  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context, const v1::DetokenizeRequest* request,
                                       v1::DetokenizeResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;
  grpc::ServerUnaryReactor* GetLoad(grpc::CallbackServerContext* context, const v1::GetLoadRequest* request,
                                    v1::GetLoadResponse* response) override;

 private:
  template <typename Work>
  grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext& context, Work work) const;

  std::atomic<const GrpcFront*> front_{nullptr};
};

}  // namespace sluice::server
