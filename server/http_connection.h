#pragma once

#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include "server/http_limits.h"
#include "server/http_router.h"

namespace sluice::server {

/// One client's connection: reads a request, answers it, and again. Lives as long as an operation on its socket is
/// pending; all of it runs on the one I/O thread.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// What all connections of a listener share; outlives them.
  struct Shared {
    const HttpRouter& router;
    const HttpLimits& limits;
    std::set<HttpConnection*> open;
    std::list<HttpConnection*> waiting;  ///< those of them that wait for a request's first byte, longest first
  };

  HttpConnection(boost::asio::ip::tcp::socket socket, Shared& shared);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  /// Closes now, or after the answer that is being written.
  void finish();
  /// Closes now.
  void abort();
  /// Ends a connection that waits. A request that has come in this moment is still answered.
  void stop_waiting();

 private:
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

  void wait_for_request(Duration timeout);
  void read_request();
  void on_header(const boost::system::error_code& error, size_t header_bytes);
  void on_request(const boost::system::error_code& error);
  void refuse(const boost::system::error_code& error);
  void respond(HttpResponse answer, const Request& request, bool keep_alive);
  void on_written(const boost::system::error_code& error);
  void linger();

  Shared& shared_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<Response> response_;  // being written, if any
  bool is_finishing_ = false;
  size_t lingered_bytes_ = 0;
};

}  // namespace sluice::server
