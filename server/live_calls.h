#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace sluice::server {

/// Counts calls whose answer is not yet with the client, so that a drain can wait for the last of them. Thread-safe.
class LiveCalls {
 public:
  void enter();
  void leave();
  /// Blocks until there is none, or until `deadline` of the steady clock; true when there is none.
  bool wait_none_until(TimePoint deadline);

 private:
  Mutex mutex_;
  CondVar none_;
  int64_t count_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::server
