#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "engine/batch.h"
#include "kvcache/block_key.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/admitter.h"
#include "scheduler/command.h"
#include "scheduler/departure_rate.h"
#include "scheduler/explanation.h"
#include "scheduler/length_book.h"
#include "scheduler/open_steps.h"
#include "scheduler/pause_margin.h"
#include "scheduler/prefix_sharing.h"
#include "scheduler/request.h"
#include "scheduler/request_forecast.h"
#include "scheduler/request_queue.h"
#include "scheduler/running_rows.h"
#include "scheduler/scheduler_config.h"
#include "scheduler/step_plan.h"
#include "scheduler/step_slicer.h"
#include "scheduler/step_time_model.h"
#include "scheduler/tenant_book.h"
#include "scheduler/token_event.h"

namespace sluice::scheduler {

/// What the scheduler has done since it began.
struct SchedulerTotals {
  uint64_t prefill_tokens = 0;
  uint64_t decode_tokens = 0;     ///< tokens drawn
  uint64_t refused = 0;           ///< requests
  uint64_t pauses = 0;            ///< sequences left out of a step, each step counted
  uint64_t paused_sequences = 0;  ///< ended ones that ever were
  uint64_t prompt_tokens = 0;     ///< of admitted sequences
  uint64_t cached_tokens = 0;     ///< of these, found in the cache
  double decode_stall_seconds =
      0;  ///< by which prompts made steps with rows that decode longer, by the step-time model
};

/// Decides what each step computes and turns its output into events. A tick is: any number of submit / cancel /
/// fail_all / set_limits, then plan; if the plan is not empty, a step and commit, or fail_step if the step failed.
///
/// One step ahead: where may_plan() says so, the next step is planned before the last one is committed, with rows for
/// sequences whose token is still being drawn. One that turns out to have ended by then had its row for nothing: what
/// was drawn there is dropped and counted nowhere, and its blocks are free when that step is committed, not before.
///
/// Promises:
/// - No eviction: an admitted sequence keeps its blocks to its end, and the state is always safe (SafeState), so that
///   all get there. One whose next blocks would end that is left out of steps until they would not.
/// - Order: as RequestQueue has it, siblings by index; one that does not fit may be passed where Admitter allows it.
/// - Siblings are admitted one by one as there is room, so a request with n sequences needs room for one.
/// - A running sequence past its prefill has a row in every step, unless it is paused or is drawing its last token.
/// - Prompts share what decode leaves of the step, but at least one block of tokens.
/// - All PromptScored events of a request come before the first token of any of its sequences.
/// - Blocks of a sequence that ended, by whatever event, are free in the next plan, or when the last step that writes
/// to
///   them has been committed.
///
/// One thread. Never reads a clock, never logs, takes no lock. Every `now` is at least the one before.
class Scheduler {
 public:
  /// `config` is valid. The pool and the hasher are lent; the pool serves this scheduler alone. `reuses_outputs`: see
  /// PrefixSharing.
  Scheduler(const SchedulerConfig& config, kvcache::SharedBlockPool& pool, const kvcache::BlockHasher& hasher,
            bool reuses_outputs);

  /// Queues the request; its id isn't one of a live request. One that can't fit into the pool even alone, or whose
  /// deadline is sooner than it could be met, is refused at once.
  void submit(Submission submission, TimePoint now);
  void cancel(const Cancel& cancel, TimePoint now);
  /// Ends everything. Steps that are planned still have to be committed, though nothing comes of them.
  void fail_all(const Status& status, TimePoint now);
  /// From the next plan on. `limits` is a change the first ones allow (SchedulerConfig::check_change). What is lowered
  /// is reached by letting requests end.
  void set_limits(const SchedulerConfig& limits);
  /// What would become of this request if it came now. Changes nothing.
  Explanation explain(const Submission& submission);
  /// The same as an event.
  void answer(const Explain& question);

  /// Whether a step can be planned now: none waits for its commit, or one does and no running sequence has to know the
  /// token that is being drawn before its next row can be launched (Sequence::waits_for_token).
  bool may_plan() const;
  /// Ends what is past its deadline, admits, refuses the newest requests beyond the queue's limits, and slices the
  /// step. Only if may_plan(). The plan is good until commit or fail_step. Where it is empty there is nothing to
  /// commit: nothing runs and nothing waits, or nobody can go on before the step under way is committed.
  const StepPlan& plan(TimePoint now);
  /// `output` is of the batch built from `plan`, the oldest that was not committed. Its counts stay as they are until
  /// the plan after next.
  void commit(const StepPlan& plan, engine::StepOutput output, TimePoint now);
  /// A step failed, and no step is under way any more: ends everything, and the plans that were not committed.
  void fail_step(const Status& status, TimePoint now);
  /// Everything that happened since events were last handed out, in order.
  std::vector<TokenEvent> take_events();

  bool has_work() const { return !requests_.empty(); }
  /// Admitted sequences in order of admission.
  const std::vector<RunningRow>& running() const { return running_.rows(); }
  int32_t running_count() const { return running_.count(); }
  /// Requests not yet started, and the tokens of their prompts.
  int32_t waiting_count() const { return queue_.unstarted_count(); }
  int64_t waiting_prompt_tokens() const { return queue_.unstarted_prompt_tokens(); }
  /// How many more requests could be submitted without one being refused for the queue's length, if the cache has room
  /// for those that find a free row.
  int64_t room() const;
  /// What a refused client is told; from the pace at which requests have been leaving.
  int64_t retry_after_ms() const { return departures_.retry_after_ms(1); }
  /// Blocks that the admitted sequences will have at their caps, and those of ended ones that a step still writes to;
  /// shared ones counted once.
  int64_t reserved_blocks() const;
  const SchedulerTotals& totals() const { return totals_; }
  const kvcache::SharedBlockPool& pool() const { return pool_; }
  const SchedulerConfig& config() const { return limits_; }
  const StepTimeModel& step_time() const { return step_time_; }
  double pause_margin() const { return margin_.z(); }
  /// What the request that is served next lacks; kNone if none waits.
  Shortage head_shortage() const;

 private:
  // submit
  int64_t final_blocks(const Submission& submission) const;
  Status never_fits(const Submission& submission) const;
  Status misses_deadline(const Submission& submission, TimePoint now);
  std::optional<RequestTimes> times_of(const Submission& submission, const Admitter::Outlook& outlook,
                                       const Explanation& explanation) const;
  // plan
  void expire_deadlines(TimePoint now);
  void admit_waiting(TimePoint now);
  void admit(Start start);
  void refuse_overflow(TimePoint now);
  Status overflow_beside(const WaitingLoad& others, const Submission& submission) const;
  void accept_newcomers();
  void begin(OpenSteps::Step& step, TimePoint now);
  // commit
  void learn(const StepPlan& plan, Duration took);
  void commit_slice(const Slice& slice, std::span<engine::SampledToken> samples, bool step_has_prefill, TimePoint now);
  void note_drawn(const Request& request, const Sequence& sequence, std::optional<FinishReason> reason);
  void note_stopped(const Request& request, const Sequence& sequence);
  // the ends of things
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

  SchedulerConfig limits_;
  kvcache::SharedBlockPool& pool_;
  PrefixSharing sharing_;
  TenantBook tenants_;
  LengthBook lengths_;
  PauseMargin margin_;
  StepTimeModel step_time_;

  std::map<RequestId, Request> requests_;  // all that have not ended
  RequestQueue queue_;
  RunningRows running_;
  std::set<std::pair<TimePoint, RequestId>> deadlines_;
  std::vector<RequestId> newcomers_;  // submitted since the last plan
  uint64_t next_arrival_number_ = 0;
  uint64_t next_admission_number_ = 0;

  Admitter admitter_;
  StepSlicer slicer_;
  OpenSteps steps_;
  uint64_t step_count_ = 0;
  uint64_t last_first_ = UINT64_MAX;  // arrival number of who was first in the queue when it was last looked at
  bool is_admission_due_ = true;      // something has changed since nobody more could be admitted
  std::vector<TokenEvent> events_;
  size_t event_count_last_ = 0;  // as many as were handed out last; likely as many again
  DepartureRate departures_;
  SchedulerTotals totals_;
};

}  // namespace sluice::scheduler
