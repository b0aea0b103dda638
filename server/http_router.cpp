#include "server/http_router.h"

#include <algorithm>

namespace sluice::server {
namespace {

bool covers(const HttpRoute& route, std::string_view path) {
  const bool is_folder = route.path.size() > 1 && route.path.back() == '/';
  if (!is_folder) return route.path == path;
  return path.size() > route.path.size() && path.substr(0, route.path.size()) == route.path;
}

}  // namespace

std::string HttpRouter::allowed_methods(std::string_view path) const {
  std::string allowed;
  for (const HttpRoute& route : routes_) {
    if (!covers(route, path)) continue;
    allowed += (allowed.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
  }
  return allowed;
}

HttpResponse HttpRouter::answer_preflight(std::string allowed) const {
  return {.status = 204,
          .content_type = "",
          .body = "",
          .headers = {{"Access-Control-Allow-Methods", std::move(allowed) + ", OPTIONS"},
                      {"Access-Control-Allow-Headers", "*, Authorization"},
                      {"Access-Control-Max-Age", "600"}}};
}

const HttpRoute* HttpRouter::find(const HttpRequest& request) const {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  const auto is_it = [&](const HttpRoute& route) { return route.method == method && covers(route, request.path); };
  const auto found = std::ranges::find_if(routes_, is_it);
  return found == routes_.end() ? nullptr : &*found;
}

Status HttpRouter::admit(const HttpRequest& head) const {
  const HttpRoute* const route = find(head);
  return route == nullptr || !route->gate ? Status() : route->gate(head);
}

HttpRouter::Decision HttpRouter::decide(const HttpRequest& request) const {
  if (const HttpRoute* const route = find(request); route != nullptr) {
    if (const auto* later = std::get_if<HttpLaterHandler>(&route->handler)) return later;
    return std::get<HttpHandler>(route->handler)(request);
  }
  std::string allowed = allowed_methods(request.path);
  if (allowed.empty()) return http_error(404, "not_found", "there is nothing at this path");
  if (request.method == "OPTIONS" && !cors_origin_.empty()) return answer_preflight(std::move(allowed));
  HttpResponse response = http_error(405, "method_not_allowed", "this path takes " + allowed);
  response.headers.emplace_back("Allow", std::move(allowed));
  return response;
}

void HttpRouter::allow_page(HttpResponse& response) const {
  if (cors_origin_.empty()) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", cors_origin_);
  response.headers.emplace_back("Access-Control-Expose-Headers",
                                "x-request-id, x-sluice-ignored, retry-after, retry-after-ms");
  if (cors_origin_ != "*") response.headers.emplace_back("Vary", "Origin");
}

}  // namespace sluice::server
