#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/length_distribution.h"
#include "bench/rate_profile.h"
#include "bench/slo.h"
#include "simulation/traced_arrival.h"

namespace sluice::bench {

/// One load: what is sent, when, how much of it, and what it should keep.
struct RunConfig {
  // When: exactly one of these loops.
  std::optional<int32_t> concurrency;      ///< closed: this many requests, or conversations, in flight at every moment
  std::optional<double> rate;              ///< open: mean arrivals per second
  std::optional<RateProfile::Piece> ramp;  ///< open: from one rate to another over `seconds`
  std::vector<RateProfile::Piece> steps;   ///< open: one rate after the other
  std::shared_ptr<const std::vector<simulation::TracedArrival>> trace;  ///< open: these arrivals, once
  double trace_speed = 1;                                               ///< the trace's times are divided by it
  std::optional<double> burstiness;                                     ///< open: see Regularity; 1 if not given
  bool has_constant_gaps = false;                                       ///< open: arrivals are evenly spaced
  int32_t in_flight_max = 4096;  ///< open: an arrival beyond waits here, and its wait is part of its latency
  // How much. A ramp needs `seconds`; steps and traces have ends of their own.
  std::optional<int64_t> requests;  ///< end after this many were sent
  std::optional<double> seconds;    ///< send no more after this long
  int32_t warmup = 2;               ///< requests sent before, at the same concurrency, and not measured
  uint64_t seed = 0;                ///< of prompts, lengths and arrivals
  // What.
  LengthDistribution prompt_tokens = LengthDistribution::fixed(128);
  /// Exactly, as end tokens are ignored; at most with stop tokens or where end tokens count. A dataset without this has
  /// answers as long as its own.
  std::optional<LengthDistribution> output_tokens;
  int32_t shared_prefix_tokens = 0;  ///< put before prompts, the same for all that have it
  double shared_prefix_share = 1;    ///< of the prompts that have it
  std::string dataset_path;          ///< not empty: prompts of this file instead of synthetic ones
  int32_t turns = 1;                 ///< of a conversation, each with all before it in its prompt
  double think_seconds = 0;          ///< between an answer and the next turn
  std::vector<int32_t> stop_token_ids;
  bool ignores_end_tokens = true;
  std::string tenant;
  float temperature = 0;
  // What it should keep.
  Slo slo;                    ///< may be empty
  double slo_share = 0.99;    ///< of the requests that must keep it for the load to pass
  double slip_limit_ms = 10;  ///< p99 beyond this: the client was the limit

  bool is_closed() const { return concurrency.has_value(); }
  /// Of an answer, where nothing was said.
  static constexpr int32_t kOutputTokens = 64;

  /// Exactly one loop, at least one end, every number in its range. Errors name the option.
  Status validate() const;
};

}  // namespace sluice::bench
