#pragma once

#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/status.h"
#include "bench/null_server/pacing.h"

namespace sluice::null_server {

/// The HTTP front: GET /v1/models, and streamed answers to any POST, of chat if its path says so. It reads just enough
/// of HTTP/1.1 to be loaded by sluice-bench. One thread, the I/O context's.
class NullHttp {
 public:
  /// Listens at HOST:PORT; the I/O context and the pacing are lent.
  static Result<std::unique_ptr<NullHttp>> start(const std::string& address, boost::asio::io_context& io,
                                                 Pacing& pacing);
  std::string address() const;

 private:
  NullHttp(boost::asio::ip::tcp::acceptor acceptor, Pacing& pacing);
  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  Pacing& pacing_;
};

}  // namespace sluice::null_server
