#pragma once

#include <atomic>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/grpc_front.h"
#include "sluice/v1/control.grpc.pb.h"

namespace sluice::server {

/// The service with its messages as bytes, as RawInferenceService has them.
using RawControlService =
    v1::Control::WithRawCallbackMethod_GetLimits<v1::Control::WithRawCallbackMethod_SetLimits<v1::Control::Service>>;

/// sluice.v1.Control. Until open() every call is refused with UNAVAILABLE. Thread-safe.
class GrpcControl final : public RawControlService {
 public:
  /// From now on calls are served. `front` is lent and outlives the server.
  void open(const GrpcFront& front) { front_.store(&front); }

  grpc::ServerUnaryReactor* GetLimits(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SetLimits(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;

 private:
  std::atomic<const GrpcFront*> front_{nullptr};
};

}  // namespace sluice::server
