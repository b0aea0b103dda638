#pragma once

#include <atomic>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/grpc_front.h"
#include "sluice/v1/inference.grpc.pb.h"

namespace sluice::server {

/// The service with its messages as bytes: read_message() can say what is wrong with a request, gRPC can't.
using RawInferenceService =
    v1::Inference::WithRawCallbackMethod_StreamComplete<v1::Inference::WithRawCallbackMethod_Complete<
        v1::Inference::WithRawCallbackMethod_StreamChat<v1::Inference::WithRawCallbackMethod_Chat<
            v1::Inference::WithRawCallbackMethod_Tokenize<v1::Inference::WithRawCallbackMethod_Detokenize<
                v1::Inference::WithRawCallbackMethod_GetModel<v1::Inference::WithRawCallbackMethod_GetLoad<
                    v1::Inference::WithRawCallbackMethod_Explain<v1::Inference::Service>>>>>>>>>;

/// sluice.v1.Inference. Until open() every call is refused with UNAVAILABLE, so the port can be taken before the model
/// is loaded. Thread-safe.
class GrpcService final : public RawInferenceService {
 public:
  /// From now on calls are served. `front` is lent and outlives the server.
  void open(const GrpcFront& front) { front_.store(&front); }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamComplete(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Complete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamChat(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Chat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetLoad(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

 private:
  std::atomic<const GrpcFront*> front_{nullptr};
};

}  // namespace sluice::server
