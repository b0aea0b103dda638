#pragma once

#include <cstdint>

#include "scheduler/step_prices.h"
#include "simulation/replay.h"

namespace sluice::bench {

struct NaiveConfig {
  int32_t max_running = 64;
  int32_t max_queued_requests = 256;  ///< fresh ones; who was thrown out waits before them and isn't counted
  int32_t tokens_per_step = 512;
  int32_t block_count = 512;
  int32_t block_size = 16;
  scheduler::StepPrices prices = {};
};

struct NaiveReport {
  simulation::ReplayReport replay;
  int64_t evictions = 0;
  int64_t computed_twice = 0;  ///< tokens whose blocks were thrown away with their sequence
};

/// A server that admits whoever's prompt fits the free blocks now, and when a running sequence finds no block throws
/// the newest one out, to compute it again from its beginning later. It exists to be measured: no daemon can be
/// configured to do this. Simulated time; a step is made as the shipped scheduler makes it, a row for everyone past the
/// prompt first and the rest of the budget for prompts in order of admission, and takes what the prices say.
/// Arrivals end; one whose whole length exceeds the cache is refused.
NaiveReport run_naive(const simulation::ArrivalSource& arrivals, const NaiveConfig& config);

}  // namespace sluice::bench
