#pragma once

#include "base/logger.h"
#include "base/mutex.h"
#include "base/status.h"
#include "scheduler/mailbox.h"
#include "scheduler/scheduler_config.h"

namespace sluice::server {

/// The limits that operators see and change while the daemon serves. Thread-safe; lends mailbox and logger. Who only
/// looks never waits for a change that is being logged.
class LimitsDesk {
 public:
  LimitsDesk(const scheduler::SchedulerConfig& at_start, scheduler::Mailbox& mailbox, Logger& logger)
      : at_start_(at_start), mailbox_(mailbox), logger_(logger), current_(at_start) {}

  scheduler::SchedulerConfig current() const;
  /// `edit(limits)` changes what is to be changed. They hold from the next step on, unless they are out of bounds: then
  /// nothing changes. A change is logged with its old and new values; `who` asked for it.
  template <typename Edit>
  Result<scheduler::SchedulerConfig> change(std::string_view who, const Edit& edit) {
    const MutexLock lock(change_mutex_);
    scheduler::SchedulerConfig wanted = current();
    edit(wanted);
    SLUICE_RETURN_IF_ERROR(apply(who, wanted));
    return wanted;
  }

 private:
  Status apply(std::string_view who, const scheduler::SchedulerConfig& wanted) SLUICE_REQUIRES(change_mutex_);

  const scheduler::SchedulerConfig at_start_;
  scheduler::Mailbox& mailbox_;
  Logger& logger_;
  Mutex change_mutex_;   // one change after the other
  mutable Mutex mutex_;  // held to copy, no longer
  scheduler::SchedulerConfig current_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server
