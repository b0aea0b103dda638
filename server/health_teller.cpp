#include "server/health_teller.h"

namespace sluice::server {

void HealthTeller::tell(const Health& health) {
  if (health.state == told_) return;
  told_ = health.state;
  set_serving_(health.is_healthy());
  switch (health.state) {
    case HealthState::kHealthy:
      return logger_.info("the serving loop makes progress again");
    case HealthState::kStalled:
      return logger_.error("the serving loop is stalled: a turn of it runs for longer than server.stall_timeout_ms");
    case HealthState::kFailing:
      return logger_.error("the engine fails: requests are still tried, but if it stays so, restart the daemon",
                           {{"why", health.reason}});
  }
}

}  // namespace sluice::server
