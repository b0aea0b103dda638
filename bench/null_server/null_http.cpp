#include "bench/null_server/null_http.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

namespace sluice::null_server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Json = nlohmann::json;

constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk_of(const std::string& bytes) {
  std::ostringstream chunk;
  chunk << std::hex << bytes.size() << "\r\n" << bytes << "\r\n";
  return chunk.str();
}

std::string event_of(const Json& json) {
  return "data: " + json.dump() + "\n\n";
}

size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const size_t at = head.find(kName);
  size_t length = 0;
  if (at != std::string_view::npos) std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
  return length;
}

/// One client's connection: one answer after the other.
class Connection final : public PacedStream, public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Pacing& pacing) : socket_(std::move(socket)), pacing_(pacing) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void read_head() {
    asio::async_read_until(socket_, asio::dynamic_buffer(buffer_), "\r\n\r\n",
                           [self = shared_from_this()](const error_code& error, size_t bytes) {
                             if (!error) self->read_body(bytes);
                           });
  }

  bool send_up_to(int32_t tokens) override {
    due_ = std::min(tokens, max_tokens_);
    write_due();
    return !has_ended_;
  }

 private:
  void read_body(size_t head_bytes) {
    head_ = buffer_.substr(0, head_bytes);
    buffer_.erase(0, head_bytes);
    const size_t length = content_length(head_);
    const size_t missing = length - std::min(length, buffer_.size());
    asio::async_read(socket_, asio::dynamic_buffer(buffer_), asio::transfer_exactly(missing),
                     [self = shared_from_this(), length](const error_code& error, size_t) {
                       if (!error) self->answer(length);
                     });
  }

  void answer(size_t body_bytes) {
    const std::string body = buffer_.substr(0, body_bytes);
    buffer_.erase(0, body_bytes);
    if (head_.starts_with("GET ")) return answer_whole(R"({"data":[{"id":"null","max_model_len":1048576}]})");
    const Json ask = Json::parse(body, nullptr, /*allow_exceptions=*/false);
    max_tokens_ = ask.is_object() ? ask.value("max_tokens", 0) : 0;
    const Json piece =
        head_.find("/chat/") == std::string::npos ? Json{{"text", " a"}} : Json{{"delta", {{"content", " a"}}}};
    token_ = event_of({{"id", "null"}, {"choices", Json::array({piece})}});
    sent_ = 0;
    has_ended_ = false;
    out_ = kStreamHead;
    pacing_.add(shared_from_this());
  }

  void answer_whole(const std::string& body) {
    out_ = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
    has_ended_ = true;
    write();
  }

  void write_due() {
    if (is_writing_ || has_ended_) return;
    std::string events;
    for (; sent_ < due_; ++sent_) events += token_;
    if (!events.empty()) out_ += chunk_of(events);
    if (sent_ >= max_tokens_) {
      has_ended_ = true;
      out_ += chunk_of(event_of({{"choices", Json::array({{{"text", ""}, {"finish_reason", "length"}}})}}) +
                       event_of({{"choices", Json::array()},
                                 {"usage", {{"prompt_tokens", 1}, {"completion_tokens", max_tokens_}}}}) +
                       "data: [DONE]\n\n") +
              "0\r\n\r\n";
    }
    if (!out_.empty()) write();
  }

  void write() {
    is_writing_ = true;
    writing_ = std::exchange(out_, {});
    asio::async_write(socket_, asio::buffer(writing_),
                      [self = shared_from_this()](const error_code& error, size_t) { self->on_written(error); });
  }
  void on_written(const error_code& error) {
    is_writing_ = false;
    if (error) {
      has_ended_ = true;
    } else if (has_ended_) {
      read_head();
    } else {
      write_due();
    }
  }

  tcp::socket socket_;
  Pacing& pacing_;
  std::string buffer_;  // what came and hasn't been read
  std::string head_;
  std::string token_;
  std::string out_;      // what is to be written next
  std::string writing_;  // what is being written
  int32_t max_tokens_ = 0;
  int32_t due_ = 0;
  int32_t sent_ = 0;
  bool is_writing_ = false;
  bool has_ended_ = true;
};

}  // namespace

NullHttp::NullHttp(tcp::acceptor acceptor, Pacing& pacing) : acceptor_(std::move(acceptor)), pacing_(pacing) {
  accept();
}

Result<std::unique_ptr<NullHttp>> NullHttp::start(const std::string& address, asio::io_context& io, Pacing& pacing) {
  const size_t colon = address.rfind(':');
  error_code error;
  const auto ip = asio::ip::make_address(address.substr(0, colon), error);
  uint16_t port = 0;
  const char* const end = address.data() + address.size();
  if (error || colon == std::string::npos || std::from_chars(address.data() + colon + 1, end, port).ptr != end) {
    return invalid_argument("'" + address + "' is not IP:PORT");
  }
  tcp::acceptor acceptor(io);
  const tcp::endpoint endpoint(ip, port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return unavailable("cannot listen on " + address + ": " + error.message());
  return std::unique_ptr<NullHttp>(new NullHttp(std::move(acceptor), pacing));
}

void NullHttp::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) std::make_shared<Connection>(std::move(socket), pacing_)->read_head();
    accept();
  });
}

std::string NullHttp::address() const {
  const tcp::endpoint endpoint = acceptor_.local_endpoint();
  return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

}  // namespace sluice::null_server
