#include "server/http_router.h"

#include <nlohmann/json.hpp>

namespace sluice::server {

HttpResponse http_error(int status, std::string_view type, std::string_view message) {
  const nlohmann::json body = {{"error", {{"message", message}, {"type", type}}}};
  return {.status = status, .content_type = "application/json", .body = body.dump() + '\n', .headers = {}};
}

std::string HttpRouter::allowed_methods(std::string_view path) const {
  std::string allowed;
  for (const HttpRoute& route : routes_) {
    if (route.path != path) continue;
    allowed += (allowed.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
  }
  return allowed;
}

HttpResponse HttpRouter::answer(const HttpRequest& request) const {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  for (const HttpRoute& route : routes_) {
    if (route.path == request.path && route.method == method) return route.handler(request);
  }
  const std::string allowed = allowed_methods(request.path);
  if (allowed.empty()) return http_error(404, "not_found", "there is nothing at this path");
  HttpResponse response = http_error(405, "method_not_allowed", "this path takes " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace sluice::server
