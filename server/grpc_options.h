#pragma once

#include <cstdint>
#include <memory>

#include <grpcpp/security/server_credentials.h>

#include "base/clock.h"
#include "server/config.h"

namespace sluice::server {

/// What bounds the clients of a gRPC listener, and how they speak with it.
struct GrpcOptions {
  int32_t message_mib = 64;
  int32_t streams = 1024;  ///< at a time on one connection
  Duration idle_timeout = std::chrono::minutes(10);
  std::shared_ptr<grpc::ServerCredentials> credentials;  ///< not null
};

/// Of a configuration whose files load_tls() has found good. TLS files are looked at again every ten seconds.
GrpcOptions grpc_options(const Config& config);

}  // namespace sluice::server
