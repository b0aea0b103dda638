#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "scheduler/loop_stats.h"

namespace sluice::server {

enum class HealthState {
  kHealthy,  ///< the loop is idle, or its current tick is within the timeout, and steps succeed
  kStalled,  ///< the current tick, in its step or anywhere else, has run for longer than the timeout
  kFailing,  ///< the last kFailedStepsInARow steps, or more, have failed
};

struct Health {
  HealthState state = HealthState::kHealthy;
  std::string reason{};  ///< why it isn't healthy, for people; else empty

  bool is_healthy() const { return state == HealthState::kHealthy; }
};

/// One failure may be a request's own and a second one bad luck. A device or a rank that is gone fails every step.
inline constexpr int32_t kFailedStepsInARow = 3;

/// Whether the serving loop makes progress. Health follows the loop, not the process: a daemon whose device hangs, or
/// fails every step, still answers on its sockets, and only this tells. `stall_timeout` is positive; a tick of exactly
/// that length is healthy. The first step that succeeds ends kFailing; a tick that hangs meanwhile is told first.
/// Thread-safe.
Health assess_health(const scheduler::LoopStats& stats, TimePoint now, Duration stall_timeout);

/// "healthy", "stalled" or "failing".
std::string_view health_name(HealthState state);

}  // namespace sluice::server
