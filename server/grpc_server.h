#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/grpc_options.h"
#include "server/listen_address.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace sluice::server {

/// A service and its full name; lent.
struct GrpcServed {
  std::string name;
  grpc::Service& service;
};

/// A gRPC listener: its services, grpc.health.v1 and server reflection on one port. Health begins as NOT_SERVING.
class GrpcServer {
 public:
  /// Listens at once; `services` are lent. FAILED_PRECONDITION, with the address and what `option` to set, when it
  /// can't listen there.
  static Result<std::unique_ptr<GrpcServer>> start(const ListenAddress& address, const ListenOption& option,
                                                   const GrpcOptions& options,
                                                   std::initializer_list<GrpcServed> services);
  /// Ends like stop() without patience, if it still runs.
  ~GrpcServer();

  /// Where it listens, with the port that the system picked if 0 was asked for.
  const ListenAddress& address() const { return address_; }

  /// What grpc.health.v1 says for "" and for each service. Thread-safe.
  void set_serving(bool serving);

  /// Takes no new calls, gives the others until `patience` has passed, cancels what is left, and returns when no call
  /// is alive.
  void stop(Duration patience);

 private:
  GrpcServer(ListenAddress address, std::vector<std::string> health_names, std::unique_ptr<grpc::Server> server);

  const ListenAddress address_;
  const std::vector<std::string> health_names_;
  const std::unique_ptr<grpc::Server> server_;
  bool is_stopped_ = false;
};

}  // namespace sluice::server
