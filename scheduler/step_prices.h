#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace sluice::scheduler {

struct StepPlan;

/// What a step computes, as far as its time depends on it.
struct StepLoad {
  int32_t prefill_tokens = 0;
  int32_t decode_rows = 0;
  int64_t context_tokens = 0;  ///< keys that the decode rows look at, summed over them, a mean over the layers
  int64_t prefill_pairs = 0;   ///< pairs of a prompt token and a key that it looks at, the same
};

StepLoad load_of(const StepPlan& plan);

/// What everything in a step costs, in milliseconds. None is above kMax.
struct StepPrices {
  static constexpr double kMax = 1e5;

  double fixed_ms = 0;
  double prefill_token_ms = 0;
  double decode_row_ms = 0;
  double context_token_ms = 0;
  double prefill_pair_ms = 0;

  double milliseconds(const StepLoad& load) const {
    return fixed_ms + prefill_token_ms * load.prefill_tokens + decode_row_ms * load.decode_rows +
           context_token_ms * static_cast<double>(load.context_tokens) +
           prefill_pair_ms * static_cast<double>(load.prefill_pairs);
  }
  /// A day at most, so that sums over steps stay far from the end of 64 bits of nanoseconds.
  Duration duration(const StepLoad& load) const {
    constexpr double kDay = 24.0 * 3600 * 1000;
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double, std::milli>(std::min(milliseconds(load), kDay)));
  }
};

}  // namespace sluice::scheduler
