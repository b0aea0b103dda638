#include "server/http_connection.h"

#include <chrono>
#include <utility>

#include <boost/beast/core/string.hpp>

namespace sluice::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

constexpr size_t kReadBytes = 4096;
constexpr size_t kLingerBytesMax = size_t{1} << 20;
constexpr std::chrono::seconds kLingerTimeout{1};

/// What follows scheme and host in an absolute-form target (RFC 9112, 3.2.2): "http://host/path?query". Other forms
/// stay as they are.
string_view without_host(string_view target) {
  constexpr string_view kScheme = "http://";
  if (!boost::beast::iequals(target.substr(0, kScheme.size()), kScheme)) return target;
  const size_t host_end = target.find_first_of("/?", kScheme.size());
  return host_end == string_view::npos ? string_view() : target.substr(host_end);
}

HttpRequest to_request(http::request<http::string_body>& message) {
  const string_view target = without_host(message.target());
  const size_t question = target.find('?');
  const string_view path = target.substr(0, question);
  return {.method = std::string(message.method_string()),
          .path = std::string(path.empty() ? "/" : path),
          .query = question == string_view::npos ? "" : std::string(target.substr(question + 1)),
          .body = std::move(message.body())};
}

bool is_http_fault(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category();
}

HttpResponse answer_to_fault(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return http_error(431, "header_too_large", "the request's header is too large");
  if (error == http::error::body_limit) return http_error(413, "body_too_large", "the request's body is too large");
  return http_error(400, "bad_request", "this is no HTTP/1.1 request");
}

}  // namespace

HttpConnection::HttpConnection(boost::asio::ip::tcp::socket socket, Shared& shared)
    : shared_(shared), stream_(std::move(socket)), buffer_(2 * shared.limits.header_bytes + shared.limits.body_bytes) {
  shared_.open.insert(this);
}

HttpConnection::~HttpConnection() {
  shared_.waiting.remove(this);
  shared_.open.erase(this);
}

// A connection that says nothing has no more time than one that says it slowly.
void HttpConnection::start() {
  wait_for_request(shared_.limits.request_timeout);
}

void HttpConnection::finish() {
  is_finishing_ = true;
  if (!response_) abort();
}

void HttpConnection::abort() {
  stream_.close();
}

void HttpConnection::stop_waiting() {
  shared_.waiting.remove(this);
  stream_.cancel();
}

void HttpConnection::wait_for_request(Duration timeout) {
  if (buffer_.size() > 0) return read_request();  // pipelined
  shared_.waiting.push_back(this);
  stream_.expires_after(timeout);
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](const error_code& error, size_t bytes) {
                            self->shared_.waiting.remove(self.get());
                            // The client left, or said nothing for too long: there is nobody to answer.
                            if (error) return;
                            self->buffer_.commit(bytes);
                            self->read_request();
                          });
}

void HttpConnection::read_request() {
  parser_.emplace();
  // Beast counts the request line and the fields in a way of its own: its limit only bounds what is read, on_header()
  // holds to ours.
  parser_->header_limit(2 * shared_.limits.header_bytes);
  parser_->body_limit(shared_.limits.body_bytes);
  // One deadline for the whole request, however slowly its bytes drip in.
  stream_.expires_after(shared_.limits.request_timeout);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const error_code& error, size_t bytes) { self->on_header(error, bytes); });
}

void HttpConnection::on_header(const error_code& error, size_t header_bytes) {
  if (error) return refuse(error);
  if (header_bytes > shared_.limits.header_bytes) return refuse(http::make_error_code(http::error::header_limit));
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](const error_code& failure, size_t) { self->on_request(failure); });
}

void HttpConnection::on_request(const error_code& error) {
  if (error) return refuse(error);
  Request request = parser_->release();
  const bool keep_alive = request.keep_alive();
  if (request.version() == 11 && request.count(http::field::host) != 1)
    return respond(http_error(400, "bad_request", "HTTP/1.1 needs one Host header"), request, false);
  respond(shared_.router.answer(to_request(request)), request, keep_alive);
}

// After a fault nobody knows where the next request would begin, so the connection ends with the answer.
void HttpConnection::refuse(const error_code& error) {
  const bool has_no_reader =
      !is_http_fault(error) || error == http::error::end_of_stream || error == http::error::partial_message;
  if (has_no_reader) return;
  respond(answer_to_fault(error), Request(), false);
}

void HttpConnection::respond(HttpResponse answer, const Request& request, bool keep_alive) {
  response_.emplace(http::int_to_status(static_cast<unsigned>(answer.status)), request.version());
  response_->set(http::field::content_type, answer.content_type);
  for (const auto& [name, value] : answer.headers) response_->set(name, value);
  response_->content_length(answer.body.size());
  if (request.method() != http::verb::head) response_->body() = std::move(answer.body);
  response_->keep_alive(keep_alive && !is_finishing_);
  stream_.expires_after(shared_.limits.request_timeout);
  http::async_write(stream_, *response_,
                    [self = shared_from_this()](const error_code& error, size_t) { self->on_written(error); });
}

void HttpConnection::on_written(const error_code& error) {
  const bool keep_alive = response_->keep_alive();
  response_.reset();
  if (error || is_finishing_) return abort();
  if (keep_alive) return wait_for_request(shared_.limits.idle_timeout);
  error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  linger();
}

// Closing while the client's bytes are unread would reset the connection, and the reset can overtake the answer: so
// they are read and thrown away, for a while.
void HttpConnection::linger() {
  buffer_.clear();
  stream_.expires_after(kLingerTimeout);
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](const error_code& error, size_t bytes) {
                            self->lingered_bytes_ += bytes;
                            if (!error && self->lingered_bytes_ < kLingerBytesMax) self->linger();
                          });
}

}  // namespace sluice::server
