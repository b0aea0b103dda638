#include "server/health_monitor.h"

namespace sluice::server {
namespace {

bool is_stalled(const scheduler::LoopStats& stats, TimePoint now, Duration stall_timeout) {
  const int64_t began_ns = stats.tick_began_ns.load(std::memory_order_relaxed);
  if (began_ns == 0) return false;
  // The tick may have begun after `now` was read: its age is then negative, and healthy.
  return now.time_since_epoch() - std::chrono::nanoseconds(began_ns) > stall_timeout;
}

}  // namespace

Health assess_health(const scheduler::LoopStats& stats, TimePoint now, Duration stall_timeout) {
  if (is_stalled(stats, now, stall_timeout)) {
    return {HealthState::kStalled, "the serving loop's current tick takes too long"};
  }
  const int32_t failed = stats.failures.in_a_row();
  if (failed < kFailedStepsInARow) return {};
  return {HealthState::kFailing,
          "the last " + std::to_string(failed) + " steps failed, the last one with: " + stats.failures.last_words()};
}

std::string_view health_name(HealthState state) {
  switch (state) {
    case HealthState::kHealthy:
      return "healthy";
    case HealthState::kStalled:
      return "stalled";
    case HealthState::kFailing:
      return "failing";
  }
  return "";
}

}  // namespace sluice::server
