#include "bench/http_connection.h"

#include <limits>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

namespace sluice::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr uint32_t kHeadBytesMax = uint32_t{64} << 10;

bool is_http_fault(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_version).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

HttpConnection::HttpConnection(asio::io_context& io, const HttpHost& host,
                               std::function<void(std::shared_ptr<HttpConnection>)> on_idle)
    : io_(io), host_(host), on_idle_(std::move(on_idle)) {}

void HttpConnection::run(std::shared_ptr<HttpExchange> exchange) {
  exchange_ = std::move(exchange);
  was_idle_ = socket_.has_value();
  if (was_idle_) return send();
  connect();
}

void HttpConnection::connect() {
  buffer_.clear();
  socket_.emplace(HttpSocket::Tcp(io_), host_.tls);
  asio::async_connect(socket_->tcp(), host_.endpoints,
                      [self = shared_from_this()](const error_code& error, const asio::ip::tcp::endpoint&) {
                        if (self->exchange_ == nullptr) return;
                        if (error) return self->fail(HttpEnd::kCannotConnect, error.message());
                        self->socket_->tcp().set_option(asio::ip::tcp::no_delay(true));
                        self->handshake();
                      });
}

void HttpConnection::handshake() {
  HttpSocket::Tls* const tls = socket_->tls();
  if (tls == nullptr) return send();
  // Name-based hosting: the server chooses its certificate by this name.
  SSL_set_tlsext_host_name(tls->native_handle(), host_.name.c_str());
  tls->set_verify_callback(asio::ssl::host_name_verification(host_.name));
  tls->async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](const error_code& error) {
    if (self->exchange_ == nullptr) return;
    if (error) return self->fail(HttpEnd::kCannotConnect, "TLS: " + error.message());
    self->send();
  });
}

void HttpConnection::send() {
  parser_.emplace();
  parser_->get().body() = exchange_.get();
  parser_->eager(true);
  parser_->header_limit(kHeadBytesMax);
  // Beast 1.74 takes an absent limit for zero where a length is announced.
  parser_->body_limit(std::numeric_limits<uint64_t>::max());
  asio::async_write(*socket_, asio::buffer(exchange_->request()),
                    // An error is left to the read: a server that refuses a long request may close while it is
                    // sent, and its answer has come all the same. The bytes belong to the exchange.
                    [self = shared_from_this(), exchange = exchange_](const error_code&, size_t) {
                      if (self->exchange_ == exchange) self->read();
                    });
}

void HttpConnection::read() {
  http::async_read_some(*socket_, buffer_, *parser_, [self = shared_from_this()](const error_code& error, size_t) {
    if (self->exchange_ != nullptr) self->on_read(error);
  });
}

void HttpConnection::on_read(const error_code& error) {
  if (parser_->is_done()) return finish();
  if (!error) return read();
  if (is_http_fault(error)) return fail(HttpEnd::kBadResponse, error.message());
  if (was_idle_ && !parser_->got_some()) {
    was_idle_ = false;
    return connect();
  }
  fail(HttpEnd::kClosedEarly, error.message());
}

void HttpConnection::finish() {
  const bool stays = parser_->keep_alive();
  const std::shared_ptr<HttpExchange> exchange = std::exchange(exchange_, nullptr);
  if (!stays) close();
  exchange->on_end(HttpEnd::kWhole, "");
  if (stays) on_idle_(shared_from_this());
}

void HttpConnection::fail(HttpEnd end, const std::string& problem) {
  const std::shared_ptr<HttpExchange> exchange = std::exchange(exchange_, nullptr);
  // A piece that has been received may still be on its way to it.
  if (parser_) parser_->get().body() = nullptr;
  close();
  exchange->on_end(end, problem);
}

void HttpConnection::cancel() {
  if (exchange_ != nullptr) fail(HttpEnd::kCancelled, "cancelled");
}

void HttpConnection::close() {
  error_code ignored;
  if (socket_) socket_->tcp().close(ignored);
}

}  // namespace sluice::bench
