#pragma once

#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace sluice::engine {

/// The first failure of ranks that work together: those of ranks that waited for it come after it. Thread-safe.
class FirstFailure {
 public:
  void note(Status failure) {
    const MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(failure);
  }
  /// OK while nothing has failed.
  Status status() const {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  Status status_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::engine
