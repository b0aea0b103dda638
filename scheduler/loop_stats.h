#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/step_failures.h"
#include "scheduler/step_stats.h"
#include "scheduler/step_timeline.h"

namespace sluice::scheduler {

/// As StepPrices has them.
struct StepPriceStats {
  std::atomic<double> fixed_ms{0};
  std::atomic<double> prefill_token_ms{0};
  std::atomic<double> decode_row_ms{0};
  std::atomic<double> context_token_ms{0};
  std::atomic<double> prefill_pair_ms{0};
};

/// What the loop thread publishes about itself after every tick, also the one that ends the last request; read by
/// metrics, GetLoad and health. Relaxed atomics: each figure is right by itself, together they may be one tick apart.
struct LoopStats {
  std::atomic<int32_t> running{0};  ///< admitted sequences
  std::atomic<int32_t> waiting{0};  ///< requests not yet started
  std::atomic<int64_t> waiting_prompt_tokens{0};
  std::atomic<int32_t> waiting_for{0};  ///< a Shortage: what the next one to be served lacks
  std::atomic<int32_t> blocks_total{0};
  std::atomic<int32_t> blocks_used{0};      ///< in some table
  std::atomic<int32_t> blocks_cached{0};    ///< in no table, with content that is kept
  std::atomic<int32_t> blocks_shared{0};    ///< in several tables
  std::atomic<int32_t> blocks_reserved{0};  ///< what all admitted sequences have at their caps
  // The limits in force.
  std::atomic<int32_t> max_running{0};
  std::atomic<int32_t> tokens_per_step{0};
  std::atomic<double> tpot_target_ms{0};
  std::atomic<int32_t> max_queued_requests{0};
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> prefill_tokens{0};
  std::atomic<uint64_t> decode_tokens{0};       ///< tokens drawn
  std::atomic<uint64_t> pauses{0};              ///< sequences left out of a step, each step counted
  std::atomic<uint64_t> paused_sequences{0};    ///< ended ones that ever were
  std::atomic<double> pause_margin{0};          ///< z of `adaptive`, in sigmas
  std::atomic<uint64_t> prompt_tokens{0};       ///< of admitted sequences
  std::atomic<uint64_t> cached_tokens{0};       ///< of these, found in the cache
  std::atomic<double> decode_stall_seconds{0};  ///< by which prompts made steps with rows that decode longer
  StepPriceStats step_prices;                   ///< what the step-time model has learnt
  std::atomic<double> step_time_error{0};       ///< |predicted - actual| / actual, a moving average
  std::atomic<int32_t> step_prefill_tokens{0};  ///< of the last step: the chosen chunk
  std::atomic<uint64_t> preemptions{0};         ///< stays 0: nothing is ever evicted
  /// Requests refused after they were parsed. Whoever refuses counts: the loop adds its own, a front adds one when
  /// try_post() is false.
  std::atomic<uint64_t> refused{0};
  /// When a client that found no room should try again; >= 1. What a front answers when try_post() is false.
  std::atomic<int64_t> retry_after_ms{1000};
  /// Steady-clock nanoseconds when the current tick began; 0 between ticks, so while the loop waits for work. Health
  /// compares it with now.
  std::atomic<int64_t> tick_began_ns{0};
  std::atomic<uint64_t> last_step_ns{0};  ///< duration of the last step
  StepStats step;
  StepTimeline timeline;  ///< the last steps, one by one
  StepFailures failures;
};

}  // namespace sluice::scheduler
