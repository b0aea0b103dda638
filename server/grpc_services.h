#pragma once

#include "server/grpc_control.h"
#include "server/grpc_service.h"

namespace sluice::server {

/// Everything that is served over gRPC, beside health and reflection.
struct GrpcServices {
  GrpcService inference;
  GrpcControl control;

  /// From now on calls are served. `front` is lent and outlives the server.
  void open(const GrpcFront& front) {
    inference.open(front);
    control.open(front);
  }
};

}  // namespace sluice::server
