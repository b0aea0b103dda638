#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::engine {

/// A count that threads wait for: briefly awake, then asleep. Opening it costs no system call while nobody sleeps.
/// What was written before open() is visible to whom it let through.
class alignas(64) Gate {
 public:
  uint32_t count() const { return count_.load(std::memory_order_acquire); }

  /// Counts on, and wakes who sleeps.
  void open();

  /// Looks for a few microseconds whether the count has left `seen`.
  bool opens_soon(uint32_t seen) const;
  /// Sleeps until the count leaves `seen`.
  void sleep(uint32_t seen);

 private:
  std::atomic<uint32_t> count_ = 0;
  std::atomic<int32_t> sleepers_ = 0;
};

}  // namespace sluice::engine
