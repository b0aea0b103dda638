#include "server/http_post.h"

#include <optional>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace sluice::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Error = boost::system::error_code;

constexpr uint64_t kAnswerBytesMax = 1 << 20;

/// One request from the resolving of its host to the end of its answer. Each step starts the next.
class Post {
 public:
  Post(const HttpUrl& url, const std::string& body) : url_(url), resolver_(io_), stream_(io_) {
    request_.method(http::verb::post);
    request_.target(url.path);
    request_.version(11);
    request_.set(http::field::host, url.authority());
    request_.set(http::field::content_type, "application/json");
    request_.set(http::field::connection, "close");
    request_.body() = body;
    request_.prepare_payload();
    answer_.body_limit(kAnswerBytesMax);
  }

  Status run(Duration timeout) {
    resolver_.async_resolve(url_.host, url_.port, [this](Error error, const auto& places) {
      if (failed(error, "resolve")) return;
      stream_.async_connect(places, [this](Error failure, const auto&) {
        if (!failed(failure, "connect to")) write();
      });
    });
    io_.run_for(timeout);
    if (status_) return *status_;
    return unavailable(url_.authority() + " did not answer in time");
  }

 private:
  void write() {
    http::async_write(stream_, request_, [this](Error error, size_t) {
      if (!failed(error, "write to")) read();
    });
  }

  void read() {
    http::async_read(stream_, buffer_, answer_, [this](Error error, size_t) {
      if (failed(error, "read from")) return;
      const unsigned code = answer_.get().result_int();
      const bool is_fine = code >= 200 && code < 300;
      status_ = is_fine ? Status() : unavailable(url_.authority() + " answered " + std::to_string(code));
    });
  }

  bool failed(Error error, const char* what) {
    if (error) status_ = unavailable("can't " + std::string(what) + ' ' + url_.authority() + ": " + error.message());
    return static_cast<bool>(error);
  }

  const HttpUrl& url_;
  asio::io_context io_;
  asio::ip::tcp::resolver resolver_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> answer_;
  std::optional<Status> status_;
};

}  // namespace

Status post_json(const HttpUrl& url, const std::string& body, Duration timeout) {
  return Post(url, body).run(timeout);
}

}  // namespace sluice::server
