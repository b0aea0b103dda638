#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "scheduler/loop_stats.h"
#include "server/health_monitor.h"
#include "server/json_text.h"
#include "server/latency_window.h"
#include "server/limits_desk.h"
#include "server/observability_routes.h"
#include "server/served_model.h"

namespace sluice::server {

/// What the live page looks at once there is a model. Lent parts outlive it.
struct LiveFront {
  const ServedModel& model;
  const scheduler::LoopStats& stats;
  const RecentLatencies& recent;
  const LimitsDesk& limits;
  Duration stall_timeout{};
  int32_t block_size = 0;
  bool has_chat_template = false;  ///< conversations are served
};

/// The daemon at the moment of the question.
struct LiveMoment {
  TimePoint now;
  TimePoint began;  ///< when the daemon did
  Readiness readiness = Readiness::kLoading;
};

inline constexpr size_t kLiveStepsMax = 512;  ///< in one answer

/// "loading", "ready", "draining", "stalled" or "failing".
std::string_view state_name(Readiness readiness, HealthState health);

/// What GET /live answers: state, why it isn't healthy if it isn't, recent latencies, queue, limits, KV blocks, totals,
/// and the steps after number `since`, the newest kLiveStepsMax of them, column by column. Times are in milliseconds,
/// or in seconds since the daemon began; what is not known is null. At most some 50 KiB, made in well under a
/// millisecond from figures that are published; waits for nobody.
Json live_status(const LiveFront& front, const LiveMoment& moment, uint64_t since);

}  // namespace sluice::server
