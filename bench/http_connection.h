#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/http_socket.h"
#include "bench/http_exchange.h"

namespace sluice::bench {

/// Whom connections go to.
struct HttpHost {
  std::string name;  ///< what a TLS certificate must be for
  boost::asio::ip::tcp::resolver::results_type endpoints;
  TlsContext tls;  ///< null: none
};

/// A Beast body that hands each piece to an exchange as it comes; to none once that is null.
struct HttpExchangeBody {
  using value_type = HttpExchange*;
  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>& head, value_type& exchange)
        : exchange_(exchange), tell_head_([this, &head] {
            const auto type = head[boost::beast::http::field::content_type];
            exchange_->on_head(static_cast<int>(head.result_int()), {type.data(), type.size()});
          }) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) {
      error = {};
      if (exchange_ != nullptr) tell_head_();
    }
    template <class Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t bytes = 0;
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        if (exchange_ != nullptr) exchange_->on_body({static_cast<const char*>(buffer.data()), buffer.size()});
        bytes += buffer.size();
      }
      return bytes;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& exchange_;
    std::function<void()> tell_head_;
  };
};

/// A connection that carries one exchange after the other. It lives as long as an operation on it does, or somebody
/// else holds it. One thread, that of the I/O context.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `host` is lent. `on_idle` is called when an exchange has ended and the connection can carry another.
  HttpConnection(boost::asio::io_context& io, const HttpHost& host,
                 std::function<void(std::shared_ptr<HttpConnection>)> on_idle);

  /// Carries an exchange, connecting first where needed. When a connection that was idle turns out to be closed, the
  /// request is sent once more on a new one: a server may close whenever nothing is asked of it.
  void run(std::shared_ptr<HttpExchange> exchange);
  /// Closes; the exchange ends as cancelled.
  void cancel();
  const HttpExchange* exchange() const { return exchange_.get(); }

 private:
  using Parser = boost::beast::http::response_parser<HttpExchangeBody>;

  void connect();
  void handshake();
  void send();
  void read();
  void on_read(const boost::system::error_code& error);
  void finish();
  void fail(HttpEnd end, const std::string& problem);
  void close();

  boost::asio::io_context& io_;
  const HttpHost& host_;
  const std::function<void(std::shared_ptr<HttpConnection>)> on_idle_;
  std::optional<HttpSocket> socket_;  // none: not connected
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<HttpExchange> exchange_;
  bool was_idle_ = false;  // the exchange began on a connection that others had used
};

}  // namespace sluice::bench
