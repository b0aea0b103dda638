#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace sluice::bench {

struct TickCostConfig {
  std::string policy = "adaptive";
  int32_t running = 256;  ///< sequences that decode
  int32_t waiting = 0;    ///< requests that lack blocks
  int32_t ticks = 1000;   ///< that are measured
};

/// Microseconds of a tick, without the step itself: plan, build_batch and commit.
struct TickCost {
  double median_us = 0;
  double p90_us = 0;
  double p99_us = 0;
};

/// Lets the shipped scheduler run with an engine that takes no time, and takes the time of everything else.
TickCost measure_ticks(const TickCostConfig& config, const Clock& clock);

}  // namespace sluice::bench
