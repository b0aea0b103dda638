#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/mutex.h"

namespace sluice::scheduler {

/// How the engine's steps fail. The loop thread notes, any thread reads. A step that succeeds costs one relaxed store;
/// only one that fails takes the lock, for its words.
class StepFailures {
 public:
  void note_success() { in_a_row_.store(0, std::memory_order_relaxed); }
  /// A step couldn't be launched, or gave no output. `words` say why.
  void note_failure(const std::string& words);

  uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  /// Since the last step that succeeded.
  int32_t in_a_row() const { return in_a_row_.load(std::memory_order_relaxed); }
  /// Why the last one that failed did; empty if none has.
  std::string last_words() const;

 private:
  std::atomic<uint64_t> total_{0};
  std::atomic<int32_t> in_a_row_{0};
  mutable Mutex mutex_;
  std::string last_words_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::scheduler
