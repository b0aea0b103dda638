#pragma once

#include <memory>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "base/status.h"

namespace sluice::client {

/// Follows the whole server's grpc.health.v1.Health/Watch until it says SERVING. The context's deadline bounds the
/// wait.
Status watch_until_serving(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context);

}  // namespace sluice::client
