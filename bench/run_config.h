#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace sluice::bench {

/// Inclusive.
struct TokenRange {
  int32_t min = 128;
  int32_t max = 128;
};

/// One load: what is sent, when, and how much of it.
struct RunConfig {
  std::optional<int32_t> concurrency;  ///< closed loop: this many requests in flight at every moment
  std::optional<double> rate;          ///< open loop: mean arrivals per second, Poisson
  std::optional<int64_t> requests;     ///< end after this many were sent
  std::optional<double> seconds;       ///< send no more after this long
  TokenRange prompt_tokens;            ///< uniform in the range, per request
  int32_t shared_prefix_tokens = 0;    ///< put before each of them, the same for all
  int32_t output_tokens = 64;          ///< exactly, as end tokens are ignored; with stop tokens at most
  std::vector<int32_t> stop_token_ids;
  std::string tenant;
  float temperature = 0;
  int32_t warmup = 2;            ///< requests sent before, at the same concurrency, and not measured
  uint64_t seed = 0;             ///< of prompts and arrivals
  int32_t in_flight_max = 4096;  ///< open loop: an arrival beyond waits here, and its wait is part of its latency

  /// Exactly one loop, at least one end, every number in its range.
  Status validate() const;
};

}  // namespace sluice::bench
