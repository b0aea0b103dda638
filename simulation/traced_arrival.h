#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace sluice::simulation {

/// A request of a trace, or of a made-up load: when it comes and how long everything is. Its tokens don't matter.
struct TracedArrival {
  Duration at{};  ///< from the beginning
  int32_t prompt_tokens = 1;
  int32_t shared_tokens = 0;   ///< of these, the first so many are the same in all of its tenant's requests
  int32_t max_tokens = 1;      ///< its cap
  int32_t output_tokens = 1;   ///< what it draws, 1 .. max_tokens
  int32_t sequence_count = 1;  ///< n
  int32_t priority = 0;
  std::string tenant = {};
  std::optional<Duration> deadline = {};  ///< from its arrival
};

}  // namespace sluice::simulation
