#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/admission/load_mix.h"

namespace sluice::bench {

/// The machine and how long it is watched.
struct SaturationConfig {
  int32_t block_count = 512;
  int32_t block_size = 16;
  int32_t max_running = 256;
  int32_t tokens_per_step = 512;
  uint64_t steps = 4000;
  uint64_t seed = 1;
  uint64_t arrivals_left_out = 0;  ///< of the figures: the first so many
  scheduler::StepPrices prices;
  Duration host_time{};  ///< as ReplayConfig has it, and so the next; the evicting server knows neither
  int32_t steps_ahead = 0;
};

/// How a policy fares when somebody always waits.
struct SaturationFigures {
  double tokens_per_ms = 0;  ///< of requests that have finished
  double rows = 0;           ///< that decode in a step, on average
  double tpot_p99_ms = 0;    ///< of requests that have finished
  double gap_p99_ms = 0;     ///< the longest wait for a next token, of all that have had a first one
  double paused_share = 0;   ///< of all that have had a first token
  int64_t finished = 0;
  int64_t computed_twice = 0;  ///< tokens
};

/// Each figure's mean over runs with other seeds; counts are those of all runs together.
SaturationFigures mean_of(const std::vector<SaturationFigures>& runs);

/// The shipped scheduler under the policy of this name.
SaturationFigures saturate(const LoadMix& mix, const SaturationConfig& config, const std::string& policy);

/// What a server does that admits whoever's prompt fits, and throws the newest out when blocks run out, to compute it
/// again from its beginning later: a measure, not an offer.
SaturationFigures saturate_with_eviction(const LoadMix& mix, const SaturationConfig& config);

}  // namespace sluice::bench
