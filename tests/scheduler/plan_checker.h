#pragma once

#include <cstdint>
#include <map>
#include <vector>

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
  /// What a sequence has and may still want, counted from its table and its request alone.
  struct Holding {
    int64_t need = 0;
    int64_t owned = 0;
  };

  SequenceRecord& record_of(const Sequence& sequence);
  int64_t blocks_for(int64_t tokens) const;
  int64_t prompt_left(const Sequence& sequence) const;
  void check_writing(const Sequence& sequence) const;
  bool is_plain() const;
  std::vector<Holding> holdings() const;
  bool is_safe(std::vector<Holding> holdings, int64_t free) const;
  bool is_safe_after_taking(size_t taker) const;

  void check_deadlines(TimePoint now) const;
  void check_slices(const StepPlan& plan, TimePoint now);
  void check_decode_priority(const StepPlan& plan, TimePoint now);
  void check_pause(size_t row, TimePoint now);
  void check_budget(const StepPlan& plan, int64_t prompt_tokens_left) const;
  void check_first_prompt(const StepPlan& plan) const;
  void count_holders();
  void check_tables();
  void check_blocks() const;
  void check_admissions();
  void check_nobody_waits_without_reason();
  const RequestRecord* first_that_waits() const;

  const Scheduler& scheduler_;
  Records& records_;
  std::map<int32_t, int32_t> holders_;  // of each block that is in some table
  int64_t refused_count_ = 0;           // at the last check
};

}  // namespace sluice::scheduler
