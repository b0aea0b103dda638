#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::scheduler {

/// What the loop thread publishes about itself after every tick, also the one that ends the last request; read by
/// metrics, GetLoad and health. Relaxed atomics: each figure is right by itself, together they may be one tick apart.
struct LoopStats {
  std::atomic<int32_t> running{0};  ///< admitted sequences
  std::atomic<int32_t> waiting{0};  ///< requests not yet started
  std::atomic<int32_t> blocks_total{0};
  std::atomic<int32_t> blocks_used{0};
  std::atomic<int32_t> blocks_reserved{0};
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> prefill_tokens{0};
  std::atomic<uint64_t> decode_tokens{0};  ///< tokens drawn
  std::atomic<uint64_t> preemptions{0};    ///< stays 0: nothing is ever evicted
  /// Requests refused after they were parsed. Whoever refuses counts: the loop adds its own, a front adds one when
  /// try_post() is false.
  std::atomic<uint64_t> refused{0};
  /// When a client that found no room should try again; >= 1. What a front answers when try_post() is false.
  std::atomic<int64_t> retry_after_ms{1000};
  /// Steady-clock nanoseconds when the current tick began; 0 between ticks, so while the loop waits for work. Health
  /// compares it with now.
  std::atomic<int64_t> tick_began_ns{0};
  std::atomic<uint64_t> last_step_ns{0};  ///< duration of the last step
};

}  // namespace sluice::scheduler
