#include "server/observability_routes.h"

#include <utility>

namespace sluice::server {
namespace {

HttpResponse plain(int status, std::string_view line) {
  return {.status = status, .body = std::string(line) + '\n', .headers = {}};
}

HttpResponse health_answer(const Health& health) {
  if (health.is_healthy()) return plain(200, "ok");
  return plain(503, std::string(health_name(health.state)) + ": " + health.reason);
}

HttpResponse readiness_answer(Readiness readiness, const Health& health) {
  if (readiness == Readiness::kLoading) return plain(503, "loading");
  if (readiness == Readiness::kDraining) return plain(503, "draining");
  return health.is_healthy() ? plain(200, "ready") : health_answer(health);
}

}  // namespace

std::vector<HttpRoute> observability_routes(ObservabilitySources sources) {
  const auto metrics = [scrape = sources.scrape](const HttpRequest&) {
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = scrape(), .headers = {}};
  };
  const auto healthz = [health = sources.health](const HttpRequest&) { return health_answer(health()); };
  const auto readyz = [sources = std::move(sources)](const HttpRequest&) {
    return readiness_answer(sources.readiness(), sources.health());
  };
  return {{"GET", "/metrics", metrics}, {"GET", "/healthz", healthz}, {"GET", "/readyz", readyz}};
}

}  // namespace sluice::server
