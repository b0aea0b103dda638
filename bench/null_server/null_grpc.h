#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "bench/null_server/pacing.h"

namespace grpc {
class Server;
}

namespace sluice::null_server {

/// The gRPC front: GetModel and StreamComplete of sluice.v1, with max_tokens tokens of the text " a".
class NullGrpc {
 public:
  /// Listens at `address`; the I/O context and the pacing are lent, and its thread paces the streams.
  static Result<std::unique_ptr<NullGrpc>> start(const std::string& address, boost::asio::io_context& io,
                                                 Pacing& pacing);
  ~NullGrpc();
  const std::string& address() const { return address_; }

 private:
  class Service;
  NullGrpc(std::unique_ptr<Service> service, std::unique_ptr<grpc::Server> server, std::string address);

  const std::unique_ptr<Service> service_;
  const std::unique_ptr<grpc::Server> server_;
  const std::string address_;
};

}  // namespace sluice::null_server
