#pragma once

#include "base/clock.h"
#include "scheduler/loop_stats.h"

namespace sluice::server {

enum class Health {
  kHealthy,  ///< the loop is idle, or its current tick is within the timeout
  kStalled,  ///< the current tick, in its step or anywhere else, has run for longer than the timeout
};

/// Whether the serving loop makes progress. Health follows the loop, not the process: a daemon whose device hangs still
/// answers on its sockets, and only this tells. `stall_timeout` is positive; a tick of exactly that length is healthy.
/// Thread-safe.
Health assess_health(const scheduler::LoopStats& stats, TimePoint now, Duration stall_timeout);

}  // namespace sluice::server
