#include "server/http_server.h"

#include <array>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/http_connection.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};

std::string reason_of(const error_code& error) {
  if (error == asio::error::address_in_use) return "the port is in use by another program";
  if (error == asio::error::access_denied) return "ports below 1024 need privileges";
  if (error == boost::system::errc::address_not_available)
    return "this machine has no such address, 0.0.0.0 stands for all it has";
  return error.message();
}

Status listen_failure(const ListenAddress& address, const error_code& error) {
  return cannot_listen(address, kHttpListen, reason_of(error));
}

Result<tcp::endpoint> resolve(asio::io_context& io, const ListenAddress& address) {
  error_code error;
  const asio::ip::address numeric = asio::ip::make_address(address.host, error);
  if (!error) return tcp::endpoint(numeric, address.port);
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(address.host, "", tcp::resolver::passive, error);
  if (error || found.empty()) return cannot_listen(address, kHttpListen, "the host has no address");
  return tcp::endpoint(found.begin()->endpoint().address(), address.port);
}

/// Tells a client that there is no room for it. The few bytes fit a fresh socket's buffer, so this doesn't block.
void turn_away(tcp::socket socket) {
  const HttpResponse answer = http_error(unavailable("there are too many connections; try again later"));
  const std::string text = http_head(answer, 11, HttpFraming::kLength, false) + answer.body;
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  // What has come already is read, as closing over unread bytes would reset the connection and could overtake the
  // answer.
  std::array<char, 4096> unread;
  socket.read_some(asio::buffer(unread), ignored);
}

}  // namespace

/// Everything that the I/O thread touches.
class HttpServer::Listener {
 public:
  Listener(std::vector<HttpRoute> routes, const HttpLimits& limits, std::string cors_origin, TlsContext tls)
      : router_(std::move(routes), std::move(cors_origin)), limits_(limits), tls_(std::move(tls)) {}

  Status listen(const ListenAddress& address) {
    SLUICE_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, resolve(io_, address));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return listen_failure(address, error);
    const tcp::endpoint bound = acceptor_.local_endpoint(error);
    if (error) return listen_failure(address, error);
    address_ = {bound.address().to_string(), bound.port()};
    return {};
  }

  void run() {
    shared_.mailbox = mailbox_;
    shared_.budget = std::make_shared<HttpBodyBudget>(limits_.buffered_bytes);
    accept();
    thread_ = std::thread([this] {
      io_.run();
      stopped_.set_value();
    });
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      accept_pause_.cancel();
      for_each_open([](HttpConnection& connection) { connection.finish(); });
    });
    // The thread ends by itself once nothing is pending.
    if (stopped_.get_future().wait_for(limits_.stop_grace) == std::future_status::timeout) {
      asio::post(io_, [this] { for_each_open([](HttpConnection& connection) { connection.abort(); }); });
    }
    thread_.join();
    mailbox_->close();
  }

  const ListenAddress& address() const { return address_; }

  void set_tls(TlsContext tls) {
    asio::post(io_, [this, tls = std::move(tls)] { tls_ = tls; });
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) return pause_accepting();
      admit(std::move(socket));
      accept();
    });
  }

  // Out of file descriptors, most likely: trying again at once would only burn the processor.
  void pause_accepting() {
    accept_pause_.expires_after(kAcceptPause);
    accept_pause_.async_wait([this](const error_code& error) {
      if (!error && acceptor_.is_open()) accept();
    });
  }

  // Clients that keep connections they don't use must not shut out a health probe.
  void admit(tcp::socket socket) {
    if (shared_.open.size() >= limits_.connections) {
      if (shared_.waiting.empty()) return tls_ == nullptr ? turn_away(std::move(socket)) : void();
      shared_.waiting.front()->stop_waiting();
    }
    std::make_shared<HttpConnection>(std::move(socket), tls_, shared_)->start();
  }

  /// Closing may end a connection, which then leaves the set.
  template <typename Act>
  void for_each_open(const Act& act) {
    std::vector<std::shared_ptr<HttpConnection>> connections;
    for (HttpConnection* const connection : shared_.open) connections.push_back(connection->shared_from_this());
    for (const auto& connection : connections) act(*connection);
  }

  const HttpRouter router_;
  const HttpLimits limits_;
  TlsContext tls_;
  // Before the context, whose end ends what connections are left.
  HttpConnection::Shared shared_{router_, limits_, nullptr, nullptr, {}, {}};
  asio::io_context io_{1};
  const std::shared_ptr<IoMailbox> mailbox_ = std::make_shared<IoMailbox>(io_);
  tcp::acceptor acceptor_{io_};
  asio::steady_timer accept_pause_{io_};
  ListenAddress address_;
  std::promise<void> stopped_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}

HttpServer::~HttpServer() {
  stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const ListenAddress& address, std::vector<HttpRoute> routes,
                                                      const HttpLimits& limits, std::string cors_origin,
                                                      TlsContext tls) {
  auto listener = std::make_unique<Listener>(std::move(routes), limits, std::move(cors_origin), std::move(tls));
  SLUICE_RETURN_IF_ERROR(listener->listen(address));
  listener->run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener)));
}

const ListenAddress& HttpServer::address() const {
  return listener_->address();
}

void HttpServer::set_tls(TlsContext tls) {
  listener_->set_tls(std::move(tls));
}

void HttpServer::stop() {
  listener_->stop();
}

}  // namespace sluice::server
