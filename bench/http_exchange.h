#pragma once

#include <string>
#include <string_view>

namespace sluice::bench {

/// How an exchange ended.
enum class HttpEnd {
  kWhole,          ///< the answer came to its end
  kClosedEarly,    ///< the connection was closed before that
  kCannotConnect,  ///< there was never one
  kBadResponse,    ///< what came is no HTTP
  kCancelled,
};

/// One request and who hears of its answer. All its methods are called on the client's I/O thread, on_end() once and
/// last.
class HttpExchange {
 public:
  /// `request` is all its bytes.
  explicit HttpExchange(std::string request) : request_(std::move(request)) {}
  virtual ~HttpExchange() = default;
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  const std::string& request() const { return request_; }
  virtual void on_head(int status, std::string_view content_type) = 0;
  virtual void on_body(std::string_view piece) = 0;
  virtual void on_end(HttpEnd end, const std::string& problem) = 0;

 private:
  const std::string request_;
};

}  // namespace sluice::bench
