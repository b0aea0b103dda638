#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/http_exchange.h"
#include "server/http_message.h"

namespace sluice::server {

/// Answers one request at once. Called on the listener's I/O thread: must not block.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;
/// Takes a request and answers it later, from any thread. Called on the I/O thread too: must not block either.
using HttpLaterHandler = std::function<void(const std::shared_ptr<HttpExchange>&)>;

/// Whether a request's sender may call, by its header alone: the body is not read when this is not OK. Called on the
/// I/O thread too.
using HttpGate = std::function<Status(const HttpRequest& head)>;

struct HttpRoute {
  std::string method;
  std::string path;  ///< one that ends with '/' stands for all that begin so
  std::variant<HttpHandler, HttpLaterHandler> handler;
  HttpGate gate = {};  ///< none: everyone may
};

/// Finds the handler for a request. A GET route serves HEAD too (the connection leaves the body out).
class HttpRouter {
 public:
  /// `cors_origin` is "*" or the one origin whose pages may call; empty: none.
  explicit HttpRouter(std::vector<HttpRoute> routes, std::string cors_origin = {})
      : routes_(std::move(routes)), cors_origin_(std::move(cors_origin)) {}

  using Decision = std::variant<HttpResponse, const HttpLaterHandler*>;
  /// What the gate of the request's route says; OK where there is none. The request may lack its body.
  Status admit(const HttpRequest& head) const;
  /// An immediate handler's answer, or who will answer. 404 for an unknown path, 405 with Allow for a known path with
  /// another method, 204 for a browser's question (OPTIONS) whether a page may call.
  Decision decide(const HttpRequest& request) const;

  /// Lets a browser's page read the answer, if pages may call at all.
  void allow_page(HttpResponse& response) const;

 private:
  const HttpRoute* find(const HttpRequest& request) const;
  std::string allowed_methods(std::string_view path) const;
  HttpResponse answer_preflight(std::string allowed) const;

  const std::vector<HttpRoute> routes_;
  const std::string cors_origin_;
};

}  // namespace sluice::server
