#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "scheduler/scheduler_config.h"
#include "scheduler/step_prices.h"
#include "scheduler/token_event.h"
#include "simulation/traced_arrival.h"

namespace sluice::simulation {

struct ReplayConfig {
  scheduler::SchedulerConfig scheduler;
  int32_t block_count = 1;
  int32_t block_size = 16;
  bool shares_prefixes = true;
  scheduler::StepPrices prices;
  Duration host_time{};             ///< to plan, launch and commit a step, in which the device has no other to compute
  int32_t steps_ahead = 0;          ///< 1: a step is planned and launched while the one before it is computed
  bool waits_for_room = false;      ///< arrivals wait outside when the queue is full, instead of being refused
  uint64_t steps_max = UINT64_MAX;  ///< stop after so many, whatever is still running
};

/// How one request went.
struct ReplayedRequest {
  enum class End { kFinished, kRefused, kExpired, kUnfinished };

  End end = End::kUnfinished;
  std::optional<Duration> ttft;  ///< from arrival
  std::optional<Duration> last;  ///< from arrival to the last token so far
  int32_t output_tokens = 0;     ///< over all its sequences
  Duration longest_gap{};        ///< between two tokens of one sequence; up to now for one that waits for its next
  scheduler::Ledger ledger;      ///< of its sequence 0, when that has ended
  bool was_paused = false;
};

struct ReplayReport {
  std::vector<ReplayedRequest> requests;  ///< in the order of arrivals; those that never came are left out
  Duration duration{};
  uint64_t steps = 0;
  uint64_t decode_rows = 0;  ///< summed over steps
  uint64_t prefill_tokens = 0;
  uint64_t pauses = 0;  ///< rows left out, summed over steps
};

/// Gives the arrivals, in order, or nothing when there are no more. One that never ends needs waits_for_room.
using ArrivalSource = std::function<std::optional<TracedArrival>(uint64_t index)>;

/// Runs the shipped scheduler, block pool and prefix index under a simulated clock, on an engine that takes the time
/// the prices say and draws as many tokens as each arrival says. Every figure follows from the arguments.
ReplayReport replay(const ArrivalSource& arrivals, const ReplayConfig& config);

}  // namespace sluice::simulation
