#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "engine/batch.h"
#include "kvcache/block_pool.h"
#include "scheduler/admission.h"
#include "scheduler/command.h"
#include "scheduler/departure_rate.h"
#include "scheduler/request.h"
#include "scheduler/request_queue.h"
#include "scheduler/scheduler_config.h"
#include "scheduler/step_plan.h"
#include "scheduler/token_event.h"

namespace sluice::scheduler {

/// What the scheduler has done since it began.
struct SchedulerTotals {
  uint64_t prefill_tokens = 0;
  uint64_t decode_tokens = 0;  ///< tokens drawn
  uint64_t refused = 0;        ///< requests
};

/// Decides what each step computes and turns its output into events. A tick is: any number of submit / cancel /
/// fail_all, then plan; if the plan is not empty, a step and commit, or fail_all if the step failed.
///
/// Promises:
/// - Order: sequences are admitted in order of arrival, siblings by index; nobody passes the oldest one that waits.
/// - Siblings are admitted one by one as there is room, so a request with n sequences needs room for one.
/// - A running sequence is never put off: past its prefill it has a row in every step, its blocks reserved to its cap.
/// - Prompts share what decode leaves of tokens_per_step, but at least one block of tokens, in order of admission.
/// - All PromptScored events of a request come before the first token of any of its sequences.
/// - Blocks of a sequence that ended, by whatever event, are free in the next plan.
///
/// One thread. Never reads a clock, never logs, takes no lock. Every `now` is at least the one before.
class Scheduler {
 public:
  /// `config` is valid. The pool is lent and serves this scheduler alone.
  Scheduler(const SchedulerConfig& config, kvcache::BlockPool& pool);

  /// Queues the request; its id isn't one of a live request. One that can't fit into the pool even alone is refused at
  /// once.
  void submit(Submission submission, TimePoint now);
  void cancel(const Cancel& cancel, TimePoint now);
  /// Ends everything; drops the plan that is not committed yet, if there is one.
  void fail_all(const Status& status, TimePoint now);

  /// Ends what is past its deadline, admits, refuses the newest requests beyond max_queued_requests, and slices the
  /// step. The plan is good until commit or fail_all. It is empty only if nothing runs and nothing waits; then there is
  /// nothing to commit.
  const StepPlan& plan(TimePoint now);
  /// `output` is of the batch built from `plan`, which plan() returned last.
  void commit(const StepPlan& plan, engine::StepOutput output, TimePoint now);
  /// Everything that happened since events were last handed out, in order.
  std::vector<TokenEvent> take_events();

  bool has_work() const { return !requests_.empty(); }
  /// Admitted sequences in order of admission.
  const std::map<uint64_t, Sequence*>& running() const { return running_; }
  int32_t running_count() const { return static_cast<int32_t>(running_.size()); }
  /// Requests not yet started.
  int32_t waiting_count() const { return queue_.unstarted_count(); }
  /// How many more requests could be submitted without one being refused for the queue's length, if the cache has room
  /// for those that find a free row.
  int64_t room() const;
  /// What a refused client is told; from the pace at which requests have been leaving.
  int64_t retry_after_ms() const { return departures_.retry_after_ms(1); }
  const SchedulerTotals& totals() const { return totals_; }
  const kvcache::BlockPool& pool() const { return pool_; }
  const SchedulerConfig& config() const { return config_; }

 private:
  // submit
  Admission decide(const Submission& submission) const;
  Status never_fits(const Submission& submission) const;
  // plan
  void expire_deadlines(TimePoint now);
  void admit_waiting(TimePoint now);
  void admit(Request& request, Sequence& sequence);
  void refuse_overflow(TimePoint now);
  void accept_newcomers();
  void slice_decodes(TimePoint now);
  void slice_prompts(TimePoint now);
  void add_slice(Sequence& sequence, int32_t length, TimePoint now);
  // commit
  void commit_slice(const Slice& slice, std::span<engine::SampledToken> samples, TimePoint now);
  // the ends of things
  int64_t final_blocks(const Submission& submission) const;
  Ledger retire(Request& request, Sequence& sequence, TimePoint now);
  void finish(Request& request, Sequence& sequence, FinishReason reason, TimePoint now);
  void end_all(Request& request, FinishReason reason, TimePoint now);
  void fail(Request& request, const Status& status, TimePoint now);
  void refuse(Request& request, Status status);
  void forget(Request& request);
  void forget_if_ended(Request& request, TimePoint now);
  void accept(Request& request);
  template <typename Event>
  void emit(Request& request, Event event);

  const SchedulerConfig config_;
  kvcache::BlockPool& pool_;

  std::map<RequestId, Request> requests_;  // all that have not ended
  RequestQueue queue_;
  std::map<uint64_t, Sequence*> running_;  // by admission number
  std::set<std::pair<TimePoint, RequestId>> deadlines_;
  std::vector<RequestId> newcomers_;  // submitted since the last plan
  uint64_t next_arrival_number_ = 0;
  uint64_t next_admission_number_ = 0;

  StepPlan plan_;
  bool is_step_open_ = false;  // plan_ waits for commit or fail_all
  std::vector<TokenEvent> events_;
  size_t event_count_last_ = 0;  // as many as were handed out last; likely as many again
  DepartureRate departures_;
  SchedulerTotals totals_;
};

}  // namespace sluice::scheduler
