#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/step_prices.h"
#include "simulation/traced_arrival.h"

namespace sluice::bench {

/// One overload and one cache, tried with growing batches.
struct CollapseConfig {
  std::vector<int32_t> max_running{4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64};
  double rate = 2.5;  ///< arrivals per second, Poisson
  int32_t requests = 1500;
  int32_t prompt_tokens = 256;        ///< on average; uniform within half of it to both sides
  int32_t output_tokens = 256;        ///< of each, which is also its cap
  int32_t max_queued_requests = 512;  ///< more are refused
  int32_t tokens_per_step = 512;
  int32_t block_count = 256;
  int32_t block_size = 16;
  uint64_t seed = 1;
  scheduler::StepPrices prices = measured_prices();

  /// What the daemon's step-time model had learnt of the default model.
  static scheduler::StepPrices measured_prices();
  /// Errors name the option.
  Status validate() const;
};

/// What came of it.
struct CollapseFigures {
  int32_t max_running = 0;
  double tokens_per_s = 0;  ///< of answers that are whole
  double ttft_p50_ms = 0;
  double ttft_p99_ms = 0;
  double gap_p99_ms = 0;  ///< of each answer's longest silence
  double e2e_p99_ms = 0;
  double seconds = 0;  ///< until the last answer
  int64_t finished = 0;
  int64_t refused = 0;
  int64_t evictions = 0;
  int64_t computed_twice = 0;  ///< tokens
};

struct CollapseResult {
  std::vector<CollapseFigures> naive;  ///< [max_running]
  std::vector<CollapseFigures> plan;   ///< [max_running]: the shipped scheduler with scheduler.admission: plan
};

/// The same arrivals, prices and cache for both and for every batch size. Simulated time: every figure follows from the
/// configuration.
CollapseResult run_collapse(const CollapseConfig& config);

/// Sequences that the cache holds to their last tokens.
int32_t rows_that_fit(const CollapseConfig& config);

std::string collapse_text(const CollapseConfig& config, const CollapseResult& result);
std::string collapse_json(const CollapseConfig& config, const CollapseResult& result);
/// `command_line` is shown in it.
std::string collapse_html(const CollapseConfig& config, const CollapseResult& result, const std::string& command_line);

}  // namespace sluice::bench
