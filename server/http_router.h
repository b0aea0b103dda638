#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::server {

struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< the target without scheme and host, up to its '?', as sent; "/" when that is nothing
  std::string query;   ///< what follows the '?'
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  ///< beside Content-Type, Content-Length and Connection
};

/// Answers one request. Called on the listener's I/O thread: must not block.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpRoute {
  std::string method;
  std::string path;
  HttpHandler handler;
};

/// `{"error": {"message": …, "type": …}}` with the status. The message is ours: never bytes of the request.
HttpResponse http_error(int status, std::string_view type, std::string_view message);

/// Finds the handler for a request. A GET route serves HEAD too (the connection leaves the body out).
class HttpRouter {
 public:
  explicit HttpRouter(std::vector<HttpRoute> routes) : routes_(std::move(routes)) {}

  /// The handler's answer; 404 for an unknown path, 405 with Allow for a known path with another method.
  HttpResponse answer(const HttpRequest& request) const;

 private:
  std::string allowed_methods(std::string_view path) const;

  std::vector<HttpRoute> routes_;
};

}  // namespace sluice::server
