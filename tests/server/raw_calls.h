#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>

namespace sluice::server {

// Calls of services whose messages this project has no generated code for, written and read as protobuf's wire bytes.

/// The status that grpc.health.v1 gives a service: 1 SERVING, 2 NOT_SERVING; -1 when the call failed.
int health_status(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

/// What server reflection answers to "list the services", as wire bytes, in which the names stand as they are.
std::string reflected_services(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace sluice::server
