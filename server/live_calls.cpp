#include "server/live_calls.h"

#include "base/check.h"

namespace sluice::server {

void LiveCalls::enter() {
  const MutexLock lock(mutex_);
  ++count_;
}

void LiveCalls::leave() {
  const MutexLock lock(mutex_);
  SLUICE_CHECK(count_ > 0);
  if (--count_ == 0) none_.notify_all();
}

bool LiveCalls::wait_none_until(TimePoint deadline) {
  const MutexLock lock(mutex_);
  while (count_ > 0) {
    if (none_.wait_until(mutex_, deadline) == std::cv_status::timeout) return count_ == 0;
  }
  return true;
}

}  // namespace sluice::server
