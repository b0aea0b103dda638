#include "server/http_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include <boost/beast/core/string.hpp>

namespace sluice::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

constexpr size_t kReadBytes = 4096;
/// Of requests that a client sends ahead; past that its going away is noticed only by what is written to it.
constexpr size_t kAheadBytesMax = size_t{64} << 10;
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr size_t kLingerBytesMax = size_t{1} << 20;
constexpr std::chrono::seconds kLingerTimeout{1};
constexpr std::chrono::milliseconds kFirstProbe{500};
constexpr std::chrono::seconds kNextProbe{5};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// What follows scheme and host in an absolute-form target (RFC 9112, 3.2.2): "http://host/path?query". Other forms
/// stay as they are.
string_view without_host(string_view target) {
  for (const string_view scheme : {"http://", "https://"}) {
    if (!boost::beast::iequals(target.substr(0, scheme.size()), scheme)) continue;
    const size_t host_end = target.find_first_of("/?", scheme.size());
    return host_end == string_view::npos ? string_view() : target.substr(host_end);
  }
  return target;
}

std::string lower_case(string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

HttpRequest to_head(const http::request<HttpBody>& message) {
  const string_view target = without_host(message.target());
  const size_t question = target.find('?');
  const string_view path = target.substr(0, question);
  HttpRequest request{.method = std::string(message.method_string()),
                      .path = std::string(path.empty() ? "/" : path),
                      .query = question == string_view::npos ? "" : std::string(target.substr(question + 1)),
                      .body = {},
                      .headers = {},
                      .body_lease = {}};
  for (const auto& field : message)
    request.headers.emplace_back(lower_case(field.name_string()), std::string(field.value()));
  return request;
}

HttpRequest to_request(http::request<HttpBody>& message) {
  HttpRequest request = to_head(message);
  request.body = std::move(message.body().text);
  request.body_lease = std::move(message.body().lease);
  return request;
}

/// Whatever else a Transfer-Encoding says, where the request ends would be anybody's guess (RFC 9112, 6.1).
bool has_known_framing(const http::request<HttpBody>& message) {
  const auto count = message.count(http::field::transfer_encoding);
  if (count == 0) return true;
  return count == 1 && message.version() == 11 &&
         boost::beast::iequals(message[http::field::transfer_encoding], "chunked");
}

bool is_out_of_memory(const error_code& error) {
  return error == boost::system::errc::not_enough_memory;
}

bool is_http_fault(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() || is_out_of_memory(error);
}

HttpResponse answer_to_fault(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return http_error(431, "header_too_large", "the request's header is too large");
  if (error == http::error::body_limit) return http_error(413, "body_too_large", "the request's body is too large");
  if (is_out_of_memory(error))
    return http_error(unavailable("too many request bodies are being read at once; try again later"));
  return http_error(400, "bad_request", "this is no HTTP/1.1 request");
}

std::string as_chunk(std::string_view bytes) {
  std::array<char, 16> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  std::string chunk(digits.data(), end);
  return chunk.append("\r\n").append(bytes).append("\r\n");
}

}  // namespace

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, TlsContext tls, Shared& shared)
    : shared_(shared),
      socket_(std::move(socket), std::move(tls)),
      buffer_(2 * shared.limits.header_bytes + 4 * kAheadBytesMax),
      deadline_(socket_.get_executor()),
      probe_(socket_.get_executor()),
      writer_(socket_, shared.limits.write_timeout) {
  shared_.open.insert(this);
}

HttpConnection::~HttpConnection() {
  abort();
  shared_.open.erase(this);
}

// A connection that says nothing has no more time than one that says it slowly.
void HttpConnection::start() {
  error_code ignored;
  socket_.tcp().set_option(asio::ip::tcp::no_delay(true), ignored);
  writer_.connect({.on_drained = [this] { on_drained(); }, .on_failed = [this] { abort(); }}, weak_from_this());
  if (!socket_.has_tls()) return wait_for_request(shared_.limits.request_timeout);
  phase_ = Phase::kReading;
  shared_.waiting.push_back(this);  // who shakes no hands makes room for who does
  deadline_.set(
      shared_.limits.request_timeout, [this] { abort(); }, weak_from_this());
  socket_.tls()->async_handshake(boost::asio::ssl::stream_base::server,
                                 [self = shared_from_this()](const Error& error) {
                                   if (self->phase_ == Phase::kClosed) return;
                                   self->shared_.waiting.remove(self.get());
                                   if (error) return self->abort();
                                   self->wait_for_request(self->shared_.limits.request_timeout);
                                 });
}

void HttpConnection::finish() {
  is_finishing_ = true;
  if (writer_.is_idle()) abort();
}

void HttpConnection::abort() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  shared_.waiting.remove(this);
  deadline_.cancel();
  probe_.cancel();
  writer_.cancel();
  error_code ignored;
  socket_.tcp().close(ignored);
  source_.reset();
  if (const auto exchange = std::exchange(exchange_, nullptr); exchange != nullptr)
    exchange->close(HttpEnd::kClientGone);
}

void HttpConnection::stop_waiting() {
  shared_.waiting.remove(this);
  error_code ignored;
  socket_.tcp().cancel(ignored);
}

void HttpConnection::wait_for_request(Duration timeout) {
  phase_ = Phase::kWaiting;
  if (buffer_.size() > 0) {  // sent ahead
    if (!is_receiving_) return read_request();
    error_code ignored;
    socket_.tcp().cancel(ignored);  // on_interrupted() goes on
    return;
  }
  if (input_ended_) return abort();
  shared_.waiting.push_back(this);
  // The client left, or said nothing for too long: there is nobody to answer.
  deadline_.set(
      timeout, [this] { abort(); }, weak_from_this());
  receive();
}

void HttpConnection::read_request() {
  phase_ = Phase::kReading;
  shared_.waiting.remove(this);
  parser_.emplace();
  // Beast counts the request line and the fields in a way of its own: its limit only bounds what is read, on_header()
  // holds to ours.
  parser_->header_limit(2 * shared_.limits.header_bytes);
  parser_->body_limit(shared_.limits.body_bytes);
  parser_->get().body().lease = HttpBodyLease(shared_.budget);
  // One deadline for the whole request, however slowly its bytes drip in.
  deadline_.set(
      shared_.limits.request_timeout, [this] { abort(); }, weak_from_this());
  http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](const Error& error, size_t bytes) {
    self->on_header(error, bytes);
  });
}

void HttpConnection::on_header(const Error& error, size_t header_bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error) return refuse(error);
  if (header_bytes > shared_.limits.header_bytes) return refuse(http::make_error_code(http::error::header_limit));
  if (!has_known_framing(parser_->get())) {
    request_ = {};
    return respond(
        http_error(501, "unknown_transfer_encoding", "the only Transfer-Encoding that can be read is chunked"));
  }
  if (const Status admitted = shared_.router.admit(to_head(parser_->get())); !admitted.ok()) {
    // What follows may be a body, so the connection ends with the answer.
    request_ = {parser_->get().version(), parser_->get().method() == http::verb::head, false};
    return respond(http_error(admitted));
  }
  const string_view expected = parser_->get()[http::field::expect];
  if (expected.empty() || parser_->get().version() < 11 || parser_->is_done()) return read_body();
  if (boost::beast::iequals(expected, "100-continue")) return invite_body();
  request_ = {};
  respond(http_error(417, "expectation_failed", "the only expectation that can be met is 100-continue"));
}

// The client waits with the body until it knows that its header is good.
void HttpConnection::invite_body() {
  asio::async_write(socket_, asio::buffer(kContinue), [self = shared_from_this()](const Error& error, size_t) {
    if (self->phase_ == Phase::kClosed) return;
    if (error) return self->abort();
    self->read_body();
  });
}

void HttpConnection::read_body() {
  http::async_read(socket_, buffer_, *parser_,
                   [self = shared_from_this()](const Error& failure, size_t) { self->on_request(failure); });
}

void HttpConnection::on_request(const Error& error) {
  if (phase_ == Phase::kClosed) return;
  if (error) return refuse(error);
  http::request<HttpBody> message = parser_->release();
  parser_.reset();
  request_ = {message.version(), message.method() == http::verb::head, message.keep_alive()};
  if (message.version() == 11 && message.count(http::field::host) != 1) {
    request_.keep_alive = false;
    return respond(http_error(400, "bad_request", "HTTP/1.1 needs one Host header"));
  }
  dispatch(to_request(message));
}

// After a fault nobody knows where the next request would begin, so the connection ends with the answer.
void HttpConnection::refuse(const Error& error) {
  const bool has_no_reader =
      !is_http_fault(error) || error == http::error::end_of_stream || error == http::error::partial_message;
  if (has_no_reader) return abort();
  parser_.reset();
  request_ = {};
  respond(answer_to_fault(error));
}

void HttpConnection::receive() {
  if (is_receiving_) return;
  is_receiving_ = true;
  // What a large request needed is not kept while nothing is said.
  if (buffer_.size() == 0) buffer_.shrink_to_fit();
  socket_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](const Error& error, size_t bytes) {
    self->on_received(error, bytes);
  });
}

void HttpConnection::on_received(const Error& error, size_t bytes) {
  is_receiving_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error == asio::error::operation_aborted) return on_interrupted();
  if (error == asio::error::eof) return on_end_of_input();
  if (error) return abort();
  buffer_.commit(bytes);
  if (phase_ == Phase::kWaiting) return read_request();
  if (phase_ == Phase::kLingering) return linger(bytes);
  if (buffer_.size() < kAheadBytesMax) return receive();
  watch_for_reset();
  probe_.set(
      kFirstProbe, [this] { probe(); }, weak_from_this());
}

/// Somebody wanted the wait for bytes to end: to read what is there, or to make room for another connection.
void HttpConnection::on_interrupted() {
  if (phase_ == Phase::kWaiting && buffer_.size() > 0) return read_request();
  abort();
}

void HttpConnection::on_end_of_input() {
  input_ended_ = true;
  if (phase_ != Phase::kAnswering) return abort();
  watch_for_reset();
  probe_.set(
      kFirstProbe, [this] { probe(); }, weak_from_this());
}

void HttpConnection::watch_for_reset() {
  socket_.tcp().async_wait(asio::ip::tcp::socket::wait_error, [self = shared_from_this()](const Error& error) {
    if (!error) self->abort();
  });
}

void HttpConnection::probe() {
  if (phase_ != Phase::kAnswering) return;
  const bool is_silent = writer_.is_idle() && !is_written_ && request_.version == 11;
  if (is_silent && source_ == nullptr) writer_.push(std::string(kContinue));
  if (is_silent && source_ != nullptr) writer_.push(as_chunk(":\n\n"));
  probe_.set(
      kNextProbe, [this] { probe(); }, weak_from_this());
}

void HttpConnection::dispatch(HttpRequest request) {
  HttpRouter::Decision decision = shared_.router.decide(request);
  if (auto* const response = std::get_if<HttpResponse>(&decision)) return respond(std::move(*response));
  hand_over(std::move(request), *std::get<const HttpLaterHandler*>(decision));
}

void HttpConnection::hand_over(HttpRequest request, const HttpLaterHandler& handler) {
  phase_ = Phase::kAnswering;
  is_written_ = false;
  deadline_.cancel();
  const std::weak_ptr<HttpConnection> weak = weak_from_this();
  const std::shared_ptr<IoMailbox> mailbox = shared_.mailbox;
  exchange_ = std::make_shared<HttpExchange>(
      std::move(request), HttpExchange::Port{.send =
                                                 [weak, mailbox](HttpAnswer answer) {
                                                   // Shared, since what is posted must be copyable; never copied.
                                                   const auto shared = std::make_shared<HttpAnswer>(std::move(answer));
                                                   mailbox->post([weak, shared] {
                                                     if (const auto self = weak.lock())
                                                       self->answer(std::move(*shared));
                                                   });
                                                 },
                                             .wake =
                                                 [weak, mailbox] {
                                                   mailbox->post([weak] {
                                                     if (const auto self = weak.lock()) self->pull();
                                                   });
                                                 }});
  receive();
  handler(exchange_);
}

void HttpConnection::answer(HttpAnswer answer) {
  if (phase_ != Phase::kAnswering) return;
  if (answer.source != nullptr) return begin_stream(std::move(answer));
  respond(std::move(answer.response));
}

void HttpConnection::respond(HttpResponse response) {
  phase_ = Phase::kAnswering;
  deadline_.cancel();
  is_written_ = true;
  shared_.router.allow_page(response);
  request_.keep_alive = request_.keep_alive && !is_finishing_;
  std::string head = http_head(response, request_.version, HttpFraming::kLength, request_.keep_alive);
  if (request_.is_head) response.body.clear();
  const bool is_small = response.body.size() < kPieceBytes;
  if (is_small) head += response.body;
  writer_.push(std::move(head));
  if (!is_small) writer_.push(std::move(response.body));
}

void HttpConnection::begin_stream(HttpAnswer answer) {
  source_ = std::move(answer.source);
  const bool has_chunks = request_.version == 11;
  request_.keep_alive = request_.keep_alive && has_chunks && !is_finishing_;
  shared_.router.allow_page(answer.response);
  const HttpFraming framing = has_chunks ? HttpFraming::kChunked : HttpFraming::kUntilClosed;
  writer_.push(http_head(answer.response, request_.version, framing, request_.keep_alive));
}

void HttpConnection::pull() {
  if (source_ == nullptr || !writer_.is_idle()) return;
  exchange_->begin_pull();
  const HttpBodySource::Piece piece = source_->next(kPieceBytes);
  const bool has_chunks = request_.version == 11;
  std::string bytes;
  if (!piece.bytes.empty()) bytes = has_chunks ? as_chunk(piece.bytes) : piece.bytes;
  if (piece.is_last) {
    if (has_chunks) bytes += "0\r\n\r\n";
    source_.reset();
    is_written_ = true;
  }
  if (bytes.empty() && is_written_) return on_answered();
  writer_.push(std::move(bytes));
}

void HttpConnection::on_drained() {
  if (phase_ != Phase::kAnswering) return;
  if (is_written_) return on_answered();
  pull();
}

void HttpConnection::on_answered() {
  probe_.cancel();
  if (const auto exchange = std::exchange(exchange_, nullptr); exchange != nullptr) exchange->close(HttpEnd::kAnswered);
  if (is_finishing_) return abort();
  if (request_.keep_alive) return wait_for_request(shared_.limits.idle_timeout);
  if (input_ended_) return abort();
  error_code ignored;
  socket_.tcp().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  phase_ = Phase::kLingering;
  deadline_.set(
      kLingerTimeout, [this] { abort(); }, weak_from_this());
  linger(0);
}

// Closing while the client's bytes are unread would reset the connection, and the reset can overtake the answer: so
// they are read and thrown away, for a while.
void HttpConnection::linger(size_t bytes) {
  lingered_bytes_ += bytes;
  if (lingered_bytes_ >= kLingerBytesMax) return abort();
  if (!is_receiving_) buffer_.clear();
  receive();
}

}  // namespace sluice::server
