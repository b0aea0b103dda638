#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "scheduler/scheduler.h"
#include "tests/scheduler/request_record.h"

namespace sluice::scheduler {

using Records = std::map<RequestId, RequestRecord>;

/// Holds every plan against the promises of the scheduler, with its own arithmetic. Ids are given in order of arrival.
class PlanChecker {
 public:
  PlanChecker(const Scheduler& scheduler, Records& records) : scheduler_(scheduler), records_(records) {}

  /// After plan(): notes what it computes in the records. The events up to here have been noted already.
  void check(const StepPlan& plan, TimePoint now);

 private:
  SequenceRecord& record_of(const Sequence& sequence);
  int64_t blocks_for(int64_t tokens) const;
  void check_deadlines(TimePoint now) const;
  void check_slices(const StepPlan& plan, TimePoint now);
  void check_decode_priority(const StepPlan& plan) const;
  void check_budget(const StepPlan& plan, int64_t prompt_tokens_left) const;
  void check_blocks();
  void check_order();
  void check_nobody_waits_without_reason() const;

  const Scheduler& scheduler_;
  Records& records_;
  std::pair<uint64_t, int32_t> admitted_last_{0, -1};  // request id, index
};

}  // namespace sluice::scheduler
