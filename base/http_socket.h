#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace sluice {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

/// One side of an HTTP connection, with TLS or without: a stream as Asio's and Beast's operations take it. One thread.
class HttpSocket {
 public:
  using Tcp = boost::asio::ip::tcp::socket;
  using Tls = boost::asio::ssl::stream<Tcp&>;
  using executor_type = Tcp::executor_type;

  /// No context: no TLS.
  HttpSocket(Tcp socket, TlsContext context) : tcp_(std::move(socket)), context_(std::move(context)) {
    if (context_ != nullptr) tls_.emplace(tcp_, *context_);
  }

  HttpSocket(const HttpSocket&) = delete;  // TLS lends the socket
  HttpSocket& operator=(const HttpSocket&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  /// What lies below, for options, waits and closing.
  Tcp& tcp() { return tcp_; }
  const Tcp& tcp() const { return tcp_; }

  /// Null without TLS; with it, its handshake comes before anything else.
  Tls* tls() { return tls_ ? &*tls_ : nullptr; }
  bool has_tls() const { return tls_.has_value(); }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return static_cast<void>(tls_->async_read_some(buffers, std::forward<Handler>(handler)));
    tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return static_cast<void>(tls_->async_write_some(buffers, std::forward<Handler>(handler)));
    tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  Tcp tcp_;
  const TlsContext context_;
  std::optional<Tls> tls_;
};

}  // namespace sluice
