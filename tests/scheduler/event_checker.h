#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/plan_checker.h"

namespace sluice::scheduler {

/// Holds every event against the contract in scheduler/token_event.h and against what the fake model gives each request
/// alone.
class EventChecker {
 public:
  /// Both lent.
  EventChecker(const Scheduler& scheduler, Records& records) : scheduler_(scheduler), records_(records) {}

  /// A failure that may end any request from now on: of the engine, or of FailAll.
  void expect_failure(StatusCode code) { failures_.insert(code); }
  /// `now` is when the events happened; `step_has_prefill` of the step that made them.
  void check(const std::vector<TokenEvent>& events, bool step_has_prefill, TimePoint now);

 private:
  void on(RequestRecord& record, const Accepted& accepted);
  void on(RequestRecord& record, const Refused& refused);
  void on(RequestRecord& record, const PromptScored& scored);
  void on(RequestRecord& record, const TokenSampled& sampled);
  void on(RequestRecord& record, const SequenceFinished& finished);
  void on(RequestRecord& record, const RequestFailed& failed);
  void on(RequestRecord& record, const Explained& explained);
  bool waits_unstarted(const RequestRecord& record) const;
  void note_overflow(const RequestRecord& refused);
  void check_overflow() const;
  void check_ledger(const RequestRecord& request, const SequenceRecord& record, const Ledger& ledger) const;

  const Scheduler& scheduler_;
  Records& records_;
  std::set<StatusCode> failures_;
  std::vector<const RequestRecord*> overflow_;  // refused by the events at hand, because the queue is full
  bool step_has_prefill_ = false;
  TimePoint now_{};
};

}  // namespace sluice::scheduler
