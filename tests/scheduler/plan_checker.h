#pragma once

#include <cstdint>
#include <deque>
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
  /// Before the oldest step is committed at `now`.
  void note_collected(TimePoint now);
  /// A step has failed: none is under way.
  void note_failed() { under_way_.clear(); }

 private:
  /// A slice of a step that isn't committed.
  struct Part {
    SequenceRecord* record = nullptr;
    int32_t length = 0;
    int32_t drawn_sample = -1;
    std::vector<int32_t> table;
  };
  struct Step {
    std::vector<Part> parts;
    std::vector<SequenceRecord*> paused;
  };

  /// What a sequence has and may still want, counted from its table and its request alone.
  struct Holding {
    int64_t need = 0;
    int64_t owned = 0;
  };

  SequenceRecord& record_of(const Sequence& sequence);
  int64_t blocks_for(int64_t tokens) const;
  int64_t prompt_left(const Sequence& sequence);
  int64_t left(const Sequence& sequence);
  int64_t foreseen(const Sequence& sequence);
  void begin(const Step& step, TimePoint now);
  void check_writing(const Sequence& sequence) const;
  bool is_plain() const;
  std::vector<Holding> holdings() const;
  bool is_safe(std::vector<Holding> holdings, int64_t free) const;
  bool is_safe_after_taking(size_t taker);

  void check_deadlines(TimePoint now) const;
  void check_slices(const StepPlan& plan);
  void check_drawing(const Slice& slice, const SequenceRecord& record);
  void check_decode_priority(const StepPlan& plan, TimePoint now, Step& step);
  void note(const StepPlan& plan, Step step, TimePoint now);
  void check_pause(size_t row, TimePoint now);
  void check_budget(const StepPlan& plan, int64_t prompt_tokens_left) const;
  void check_first_prompt(const StepPlan& plan);
  void count_holders();
  /// The blocks of each that has ended while a step writes to them.
  std::map<const SequenceRecord*, std::vector<int32_t>> kept_tables() const;
  void check_tables();
  void check_blocks() const;
  void check_admissions();
  void check_nobody_waits_without_reason();
  const RequestRecord* first_that_waits() const;

  const Scheduler& scheduler_;
  Records& records_;
  std::map<int32_t, int32_t> holders_;  // of each block that is in some table
  std::deque<Step> under_way_;          // oldest first
  int64_t refused_count_ = 0;           // at the last check
};

}  // namespace sluice::scheduler
