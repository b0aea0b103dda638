#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

namespace sluice::server {

// Calls whose messages no generated code can write, or for which this project has none: written and read as protobuf's
// wire bytes.

struct RawAnswer {
  grpc::Status status;
  std::string bytes;
};

/// One message to "/package.Service/Method", and one back.
RawAnswer call_with_bytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                          const std::string& request);

/// The status that grpc.health.v1 gives a service: 1 SERVING, 2 NOT_SERVING; -1 when the call failed.
int health_status(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

/// What server reflection answers to "list the services", as wire bytes, in which the names stand as they are.
std::string reflected_services(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace sluice::server
