#include "scheduler/step_failures.h"

#include <limits>

namespace sluice::scheduler {

void StepFailures::note_failure(const std::string& words) {
  {
    const MutexLock lock(mutex_);
    last_words_ = words;
  }
  // One thread writes, so no read-modify-write is needed.
  const int32_t before = in_a_row();
  if (before < std::numeric_limits<int32_t>::max()) in_a_row_.store(before + 1, std::memory_order_relaxed);
  total_.store(total() + 1, std::memory_order_relaxed);
}

std::string StepFailures::last_words() const {
  const MutexLock lock(mutex_);
  return last_words_;
}

}  // namespace sluice::scheduler
