#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/http_socket.h"
#include "base/status.h"
#include "server/http_limits.h"
#include "server/http_router.h"
#include "server/listen_address.h"

namespace sluice::server {

/// An HTTP/1.1 listener with keep-alive and pipelining, served by one I/O thread of its own, on which the handlers are
/// called too.
class HttpServer {
 public:
  /// Listens and serves until stop(), with TLS when there is a context. FAILED_PRECONDITION, with the address and what
  /// to do, when it can't listen there. Browsers' pages of `cors_origin` may call it: "*" stands for all, nothing for
  /// none.
  static Result<std::unique_ptr<HttpServer>> start(const ListenAddress& address, std::vector<HttpRoute> routes,
                                                   const HttpLimits& limits = {}, std::string cors_origin = {},
                                                   TlsContext tls = nullptr);
  ~HttpServer();

  /// Connections from now on use this context. Only where it began with one.
  void set_tls(TlsContext tls);

  /// Where it listens, with the port that the system picked if 0 was asked for.
  const ListenAddress& address() const;

  /// Closes the listening port and idle connections at once, lets answers being written finish within the grace time,
  /// and returns when no handler runs any more. Not called on the I/O thread, nor by two threads at once; a second call
  /// does nothing.
  void stop();

 private:
  class Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener);

  std::unique_ptr<Listener> listener_;
};

}  // namespace sluice::server
