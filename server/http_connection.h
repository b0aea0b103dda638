#pragma once

#include <list>
#include <memory>
#include <optional>
#include <set>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/http_socket.h"
#include "server/http_body.h"
#include "server/http_deadline.h"
#include "server/http_exchange.h"
#include "server/http_limits.h"
#include "server/http_router.h"
#include "server/http_writer.h"
#include "server/io_mailbox.h"

namespace sluice::server {

/// One client's connection: reads a request, answers it, and again; the next request is read when the answer is
/// written. While an answer is awaited or written it watches for the client to go away, and then closes the exchange.
/// Lives as long as an operation on its socket is pending; all of it runs on the one I/O thread.
///
/// A client that ends its sending only (half-close) still gets its answer. It looks just like one that has closed the
/// connection, until something is sent: so such a client is sent an interim answer now and then (RFC 9110, 15.2: any
/// client must skip it), or a comment in an event stream, which a closed connection answers with a reset.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// What all connections of a listener share; outlives them.
  struct Shared {
    const HttpRouter& router;
    const HttpLimits& limits;
    std::shared_ptr<IoMailbox> mailbox;
    std::shared_ptr<HttpBodyBudget> budget;
    std::set<HttpConnection*> open;
    std::list<HttpConnection*> waiting;  ///< those of them that wait for a request's first byte, longest first
  };

  HttpConnection(boost::asio::ip::tcp::socket socket, TlsContext tls, Shared& shared);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Shakes hands first where there is TLS.
  void start();
  /// Closes now, or after the answer that is being written.
  void finish();
  /// Closes now.
  void abort();
  /// Ends a connection that waits. A request that has come in this moment is still answered.
  void stop_waiting();

 private:
  enum class Phase { kWaiting, kReading, kAnswering, kLingering, kClosed };
  /// What the answer needs to know of its request.
  struct RequestTraits {
    unsigned version = 11;
    bool is_head = false;
    bool keep_alive = false;
  };
  using Error = boost::system::error_code;

  // Reading a request.
  void wait_for_request(Duration timeout);
  void read_request();
  void on_header(const Error& error, size_t header_bytes);
  void invite_body();
  void read_body();
  void on_request(const Error& error);
  void refuse(const Error& error);

  // Bytes that come while no request is being read.
  void receive();
  void on_received(const Error& error, size_t bytes);
  void on_interrupted();
  void on_end_of_input();
  void watch_for_reset();
  void probe();

  // Answering.
  void dispatch(HttpRequest request);
  void hand_over(HttpRequest request, const HttpLaterHandler& handler);
  void answer(HttpAnswer answer);
  void respond(HttpResponse response);
  void begin_stream(HttpAnswer answer);
  void pull();
  void on_drained();
  void on_answered();
  void linger(size_t bytes);

  Shared& shared_;
  HttpSocket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<HttpBody>> parser_;
  HttpDeadline deadline_;  // of the phase
  HttpDeadline probe_;
  HttpWriter writer_;

  Phase phase_ = Phase::kWaiting;
  RequestTraits request_;
  std::shared_ptr<HttpExchange> exchange_;  // while a handler that answers later has the request
  std::shared_ptr<HttpBodySource> source_;  // while an answer comes in pieces
  bool is_written_ = false;                 // the answer's last byte has been handed to the writer
  bool is_receiving_ = false;
  bool input_ended_ = false;
  bool is_finishing_ = false;
  size_t lingered_bytes_ = 0;
};

}  // namespace sluice::server
