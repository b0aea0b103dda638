#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "server/grpc_services.h"
#include "server/listen_address.h"

namespace grpc {
class Server;
}

namespace sluice::server {

/// The gRPC listener: the inference and control services, grpc.health.v1 and server reflection on one port. Health
/// begins as NOT_SERVING.
class GrpcServer {
 public:
  /// Listens at once; `services` are lent. FAILED_PRECONDITION, with the address and what to do, when it can't listen
  /// there.
  static Result<std::unique_ptr<GrpcServer>> start(const ListenAddress& address, int32_t max_message_mib,
                                                   GrpcServices& services);
  /// Ends like stop() without patience, if it still runs.
  ~GrpcServer();

  /// Where it listens, with the port that the system picked if 0 was asked for.
  const ListenAddress& address() const { return address_; }

  /// What grpc.health.v1 says for "" and for "sluice.v1.Inference". Thread-safe.
  void set_serving(bool serving);

  /// Takes no new calls, gives the others until `patience` has passed, cancels what is left, and returns when no call
  /// is alive.
  void stop(Duration patience);

 private:
  GrpcServer(ListenAddress address, std::unique_ptr<grpc::Server> server);

  const ListenAddress address_;
  const std::unique_ptr<grpc::Server> server_;
  bool is_stopped_ = false;
};

}  // namespace sluice::server
