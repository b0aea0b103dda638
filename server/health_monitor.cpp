#include "server/health_monitor.h"

namespace sluice::server {

Health assess_health(const scheduler::LoopStats& stats, TimePoint now, Duration stall_timeout) {
  const int64_t began_ns = stats.tick_began_ns.load(std::memory_order_relaxed);
  if (began_ns == 0) return Health::kHealthy;
  // The tick may have begun after `now` was read: its age is then negative, and healthy.
  const Duration age = now.time_since_epoch() - std::chrono::nanoseconds(began_ns);
  return age > stall_timeout ? Health::kStalled : Health::kHealthy;
}

}  // namespace sluice::server
