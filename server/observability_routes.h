#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/health_monitor.h"
#include "server/http_router.h"

namespace sluice::server {

/// Whether new requests are welcome.
enum class Readiness { kLoading, kReady, kDraining };

/// What the routes ask for, on the listener's I/O thread; none may block.
struct ObservabilitySources {
  std::function<std::string()> scrape;  ///< Prometheus text
  std::function<Health()> health;
  std::function<Readiness()> readiness;
};

/// GET /metrics (Prometheus text 0.0.4), /healthz (200 "ok", or 503 and the reason when the loop is stalled or its
/// steps fail) and /readyz (200 "ready", or 503 while loading, draining or not healthy).
std::vector<HttpRoute> observability_routes(ObservabilitySources sources);

}  // namespace sluice::server
