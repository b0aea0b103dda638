#include "scheduler/scheduler.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace sluice::scheduler {

namespace {

constexpr uint64_t kRefreshSteps = 20;   // steps from one estimate of output lengths to the next
constexpr uint64_t kAdmissionSteps = 8;  // steps after which time alone may have made room

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config, kvcache::SharedBlockPool& pool, const kvcache::BlockHasher& hasher,
                     bool reuses_outputs)
    : limits_(config),
      pool_(pool),
      sharing_(pool, hasher, reuses_outputs),
      margin_(config.pause_target),
      queue_(tenants_),
      admitter_({pool, sharing_, queue_, running_, tenants_, lengths_, margin_}),
      slicer_(pool, lengths_, step_time_) {
  SLUICE_CHECK(limits_.validate().ok());
  tenants_.set_rows(limits_.max_running);
}

// --- commands

void Scheduler::submit(Submission submission, TimePoint now) {
  const RequestId id = submission.id;
  const bool has_work = submission.has_work();
  Status refusal;
  if (has_work && final_blocks(submission) > pool_.capacity()) {
    refusal = never_fits(submission);
  } else if (has_work && submission.deadline != TimePoint::max()) {
    refusal = misses_deadline(submission, now);
  }
  if (!refusal.ok()) {
    ++totals_.refused;
    events_.push_back({id, Refused{std::move(refusal)}});
    return;
  }
  if (requests_.empty()) departures_.begin(now);
  const int32_t tenant = tenants_.enter(submission.tenant);
  const auto [entry, is_new] = requests_.try_emplace(id, std::move(submission), next_arrival_number_++, tenant);
  SLUICE_CHECK(is_new);
  Request& request = entry->second;
  queue_.push(request);
  newcomers_.push_back(id);
  is_admission_due_ = true;
  if (request.submission().deadline != TimePoint::max()) deadlines_.emplace(request.submission().deadline, id);
  // It waits for nothing, so not in the queue either.
  if (!has_work) end_all(request, FinishReason::kLength, now);
}

int64_t Scheduler::final_blocks(const Submission& submission) const {
  return pool_.growth().blocks_for(static_cast<int64_t>(submission.prompt.size()) + submission.max_new_tokens);
}

Status Scheduler::never_fits(const Submission& submission) const {
  const auto text = [](int64_t number) { return std::to_string(number); };
  const auto prompt = static_cast<int64_t>(submission.prompt.size());
  return invalid_field(
      "prompt", "of " + text(prompt) + " tokens and max_tokens of " + text(submission.max_new_tokens) + " need " +
                    text(prompt + submission.max_new_tokens) + " places in the KV cache, which has " +
                    text(pool_.growth().tokens_for(pool_.capacity())) + "; shorten the prompt or lower max_tokens");
}

Status Scheduler::misses_deadline(const Submission& submission, TimePoint now) {
  if (submission.deadline <= now || !step_time_.is_known()) return {};  // the plan ends what is past
  const std::optional<RequestTimes> times = explain(submission).times;
  // As long as nothing is known of answers' lengths, a wait can only be guessed at by caps, which most don't reach.
  if (!times || (times->start > Duration::zero() && !lengths_.at(0).is_known())) return {};
  const Duration left = submission.deadline - now;
  if (times->finish <= left) return {};
  const auto text = [](Duration duration) { return std::to_string(static_cast<int64_t>(to_milliseconds(duration))); };
  const bool is_first_late = times->first_token > left;
  return deadline_exceeded("the deadline is in " + text(left) + " ms and the " + (is_first_late ? "first" : "last") +
                           " token is predicted in " + text(is_first_late ? times->first_token : times->finish) +
                           " ms");
}

Explanation Scheduler::explain(const Submission& submission) {
  const kvcache::SharedBlockCounts counts = pool_.counts();
  Explanation explanation{.requests_before = queue_.unstarted_before(submission.priority),
                          .prompt_tokens = static_cast<int32_t>(submission.prompt.size()),
                          .final_blocks = static_cast<int32_t>(std::min<int64_t>(final_blocks(submission), INT32_MAX)),
                          .free_blocks = counts.free,
                          .capacity_blocks = counts.capacity};
  // What needs no step is answered at once, whatever its size.
  explanation.is_admitted_now = !submission.has_work();
  explanation.never_fits = submission.has_work() && explanation.final_blocks > counts.capacity;
  if (explanation.never_fits) explanation.shortage = Shortage::kKv;
  if (explanation.is_admitted_now || explanation.never_fits) return explanation;
  running_.measure(pool_);
  const int32_t tenant = tenants_.enter(submission.tenant);
  Sequence sequence(submission, 0);
  const Admitter::Outlook outlook = admitter_.outlook(limits_, sequence, tenant);
  explanation.cached_tokens = outlook.cached_tokens;
  explanation.shortage = outlook.shortage;
  const bool are_others_first = queue_.has_before(submission.priority);
  if (are_others_first && outlook.shortage == Shortage::kNone) explanation.shortage = Shortage::kOrder;
  explanation.is_admitted_now = explanation.shortage == Shortage::kNone;
  explanation.times = times_of(submission, outlook, explanation);
  if (!explanation.is_admitted_now && !overflow_beside(queue_.unstarted(tenant), submission).ok()) {
    explanation.shortage = Shortage::kQueue;
  }
  tenants_.leave(tenant);
  return explanation;
}

void Scheduler::answer(const Explain& question) {
  events_.push_back({question.submission.id, Explained{explain(question.submission)}});
}

/// Those before it start one by one at the pace at which requests have been leaving, after the first has found room.
std::optional<RequestTimes> Scheduler::times_of(const Submission& submission, const Admitter::Outlook& outlook,
                                                const Explanation& explanation) const {
  StepLoad running{.decode_rows = running_count()};
  for (const SequenceLoad& load : running_.row_loads()) running.context_tokens += pool_.growth().keys_seen(load.tokens);
  const bool waits = !explanation.is_admitted_now;
  return foretell({.step_time = step_time_,
                   .lengths = lengths_.at(0),
                   .growth = pool_.growth(),
                   .running = running,
                   .steps_to_start = outlook.steps,
                   .wait_for_others = waits ? departures_.mean() * explanation.requests_before : Duration::zero(),
                   .tokens_per_step = limits_.tokens_per_step,
                   .cached_tokens = outlook.cached_tokens,
                   .prompt_tokens = explanation.prompt_tokens - outlook.cached_tokens,
                   .max_new_tokens = submission.max_new_tokens});
}

void Scheduler::cancel(const Cancel& cancel, TimePoint now) {
  const auto found = requests_.find(cancel.request);
  if (found == requests_.end()) return;
  Request& request = found->second;
  if (!cancel.sequence) return end_all(request, FinishReason::kCancelled, now);
  if (*cancel.sequence < 0 || *cancel.sequence >= request.submission().sequence_count) return;
  Sequence& sequence = request.sequences()[static_cast<size_t>(*cancel.sequence)];
  note_stopped(request, sequence);
  if (!sequence.is_finished()) finish(request, sequence, FinishReason::kCancelled, now);
  forget_if_ended(request, now);
}

void Scheduler::fail_all(const Status& status, TimePoint now) {
  while (!requests_.empty()) fail(requests_.begin()->second, status, now);
  sharing_.forget();  // after a failed step nobody vouches for the cache's content
}

void Scheduler::set_limits(const SchedulerConfig& limits) {
  limits_ = limits;
  tenants_.set_rows(limits_.max_running);
  is_admission_due_ = true;
}

// --- plan

bool Scheduler::may_plan() const {
  if (steps_.empty()) return true;
  return steps_.count() < OpenSteps::kStepsMax &&
         std::ranges::none_of(running_.rows(), [](const RunningRow& row) { return row.sequence->waits_for_token(); });
}

const StepPlan& Scheduler::plan(TimePoint now) {
  SLUICE_CHECK(may_plan());
  StepPlan& plan = steps_.draft();
  expire_deadlines(now);
  running_.measure(pool_);
  if (step_count_++ % kRefreshSteps == 0) lengths_.refresh(running_.row_loads());
  admit_waiting(now);
  refuse_overflow(now);
  accept_newcomers();
  slicer_.slice(running_, limits_, now, plan);
  if (plan.paused_rows > 0) is_admission_due_ = true;  // `adaptive` admits again as soon as nobody is paused
  // Whoever waits alone is admitted, and among those who run somebody can go on, at the latest when the step under way
  // is over: the loop can't spin, and can't sleep on a waiting request.
  SLUICE_CHECK(plan.empty() ? !has_work() || plan.is_ahead : has_work());
  if (!plan.empty()) {
    steps_.open();
    if (!plan.is_ahead) begin(steps_.oldest(), now);
  }
  return plan;
}

void Scheduler::begin(OpenSteps::Step& step, TimePoint now) {
  step.began = now;
  for (const Slice& slice : step.plan.slices) {
    if (slice.sequence != nullptr) slice.sequence->begin_slice(now);
  }
  totals_.pauses += step.plan.paused.size();
  for (Sequence* sequence : step.plan.paused) {
    if (!sequence->was_paused()) margin_.note_paused();
    sequence->pause(now);
  }
}

void Scheduler::expire_deadlines(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Request& request = requests_.at(deadlines_.begin()->second);
    fail(request,
         deadline_exceeded(request.has_started() ? "the deadline passed before the last token"
                                                 : "the deadline passed in the queue"),
         now);
  }
}

void Scheduler::admit_waiting(TimePoint now) {
  const Request* first = queue_.first();
  if (first == nullptr) return;
  // As long as nobody comes or goes, nobody's turn changes and prompts are not being shared, hardly anything can have
  // changed.
  const bool is_another = std::exchange(last_first_, first->arrival_number()) != first->arrival_number();
  if (!is_admission_due_ && !is_another && step_count_ % kAdmissionSteps != 0) return;
  is_admission_due_ = false;
  while (std::optional<Start> start = admitter_.next(limits_)) {
    if (start->sequence->has_work()) {
      admit(std::move(*start));
    } else {
      finish(*start->request, *start->sequence, FinishReason::kLength, now);
      forget_if_ended(*start->request, now);
    }
  }
}

void Scheduler::admit(Start start) {
  Request& request = *start.request;
  Sequence& sequence = *start.sequence;
  accept(request);
  totals_.prompt_tokens += static_cast<uint64_t>(sequence.prompt_length());
  totals_.cached_tokens += static_cast<uint64_t>(start.cached_tokens);
  tenants_.charge_prompt(request.tenant(), sequence.prompt_length() - start.cached_tokens);
  tenants_.note_running(request.tenant(), 1);
  const auto prompt_blocks = static_cast<int32_t>(pool_.growth().blocks_for(sequence.prompt_length()));
  while (start.table.count() < prompt_blocks) start.table.take();
  sequence.admit(std::move(start.table), start.cached_tokens, next_admission_number_++);
  sharing_.begin(sequence);
  running_.add({&sequence, &request, lengths_.entry_of(request.tenant())});
  running_.measure(pool_);
  if (!request.has_started()) queue_.begin(request);
  request.start();
  if (!request.has_waiting()) queue_.remove(request);
}

void Scheduler::refuse_overflow(TimePoint now) {
  // The newest would have to wait for the most departures before there is a place.
  for (auto newest = newcomers_.rbegin(); newest != newcomers_.rend(); ++newest) {
    const auto found = requests_.find(*newest);
    if (found == requests_.end() || found->second.has_started()) continue;
    Request& request = found->second;
    WaitingLoad others = queue_.unstarted(request.tenant());
    --others.requests;
    --others.tenants_requests;
    others.prompt_tokens -= static_cast<int64_t>(request.submission().prompt.size());
    Status status = overflow_beside(others, request.submission());
    if (status.ok()) continue;
    if (request.is_accepted()) {
      fail(request, status, now);  // one of its sequences was cancelled before this first plan
    } else {
      refuse(request, std::move(status));
    }
  }
}

/// Why a request that can't start must not wait beside those others, if it must not.
Status Scheduler::overflow_beside(const WaitingLoad& others, const Submission& submission) const {
  const auto text = [](int64_t number) { return std::to_string(number); };
  const int32_t excess = others.requests + 1 - limits_.max_queued_requests;
  if (excess > 0) {
    return resource_exhausted("the queue is full: " + text(limits_.max_queued_requests) + " requests are waiting")
        .with_retry_after_ms(departures_.retry_after_ms(excess));
  }
  const int64_t tokens = others.prompt_tokens + static_cast<int64_t>(submission.prompt.size());
  if (others.prompt_tokens > 0 && tokens > limits_.max_queued_tokens) {
    return resource_exhausted("the queue is full: prompts of " + text(others.prompt_tokens) +
                              " tokens are waiting, of at most " + text(limits_.max_queued_tokens))
        .with_retry_after_ms(departures_.retry_after_ms(1));
  }
  const int32_t own_excess = others.tenants_requests + 1 - limits_.max_queued_per_tenant;
  if (limits_.max_queued_per_tenant > 0 && own_excess > 0) {
    return resource_exhausted("the tenant's share of the queue is full: " + text(limits_.max_queued_per_tenant) +
                              " of its requests are waiting")
        .with_retry_after_ms(departures_.retry_after_ms(own_excess));
  }
  return {};
}

void Scheduler::accept_newcomers() {
  for (const RequestId id : newcomers_) {
    if (const auto found = requests_.find(id); found != requests_.end()) accept(found->second);
  }
  newcomers_.clear();
}

int64_t Scheduler::reserved_blocks() const {
  int64_t reserved = int64_t{pool_.counts().shared} + running_.kept_blocks();
  for (const RunningRow& row : running_.rows()) {
    reserved += load_of(*row.sequence, row.sequence->table(), row.lengths, pool_).finally_owned();
  }
  return reserved;
}

Shortage Scheduler::head_shortage() const {
  const Request* first = queue_.first();
  return first == nullptr ? Shortage::kNone : first->shortage();
}

// --- commit

void Scheduler::commit(const StepPlan& plan, engine::StepOutput output, TimePoint now) {
  SLUICE_CHECK(!steps_.empty() && &plan == &steps_.oldest().plan);
  const uint64_t number = steps_.oldest().number;
  totals_.prefill_tokens += static_cast<uint64_t>(plan.prefill_tokens);
  if (plan.prefill_tokens > 0) is_admission_due_ = true;  // somebody may wait for a prompt to share
  learn(plan, now - steps_.oldest().began);
  steps_.close_oldest();
  SLUICE_CHECK(output.samples.size() == static_cast<size_t>(plan.samples));
  std::span<engine::SampledToken> samples = output.samples;
  for (const Slice& slice : plan.slices) {
    const auto count = static_cast<size_t>(slice.samples());
    if (slice.sequence != nullptr) commit_slice(slice, samples.first(count), plan.prefill_tokens > 0, now);
    samples = samples.subspan(count);
  }
  if (running_.release_until(number)) is_admission_due_ = true;
  if (!steps_.empty()) begin(steps_.oldest(), now);
}

void Scheduler::fail_step(const Status& status, TimePoint now) {
  steps_.close_all();
  running_.release_until(UINT64_MAX);
  fail_all(status, now);
}

void Scheduler::learn(const StepPlan& plan, Duration took) {
  if (plan.prefill_tokens > 0 && plan.decode_rows > 0 && step_time_.is_known()) {
    const Duration alone = step_time_.predict({.decode_rows = plan.decode_rows, .context_tokens = plan.context_tokens});
    totals_.decode_stall_seconds += std::max(0.0, to_seconds(took - alone));
  }
  step_time_.note(load_of(plan), took);
}

void Scheduler::commit_slice(const Slice& slice, std::span<engine::SampledToken> samples, bool step_has_prefill,
                             TimePoint now) {
  Sequence& sequence = *slice.sequence;
  Request& request = requests_.at(sequence.submission().id);
  sequence.advance(slice.length);
  sharing_.publish(sequence, slice.begin);
  if (slice.scored > 0) {
    const auto scores = samples.first(static_cast<size_t>(slice.scored));
    emit(request, PromptScored{.first_position = slice.begin + 1,
                               .tokens = {std::move_iterator(scores.begin()), std::move_iterator(scores.end())}});
  }
  std::optional<FinishReason> reason;
  if (slice.draws) {
    ++totals_.decode_tokens;
    reason = sequence.append(samples.back().token, step_has_prefill, now);
    note_drawn(request, sequence, reason);
    emit(request, TokenSampled{.sequence = sequence.index(), .token = std::move(samples.back()), .time = now});
  } else if (!sequence.is_prefill()) {
    reason = FinishReason::kLength;  // only the prompt's scores were wanted
  }
  if (!reason) return;
  finish(request, sequence, *reason, now);
  forget_if_ended(request, now);
}

void Scheduler::note_drawn(const Request& request, const Sequence& sequence, std::optional<FinishReason> reason) {
  tenants_.charge_output(request.tenant(), 1);
  const int32_t entry = lengths_.entry_of(request.tenant());
  const auto drawn = static_cast<int32_t>(sequence.output().size());
  const bool is_at_cap = reason == FinishReason::kLength;
  if (!is_at_cap) lengths_.note_drawn(entry, drawn - 1, reason.has_value());
  if (reason) lengths_.note_finished(entry, drawn, is_at_cap);
}

/// A stop string ends an answer as its end token does. Who is cancelled altogether says nothing of how long answers
/// are.
void Scheduler::note_stopped(const Request& request, const Sequence& sequence) {
  if (!sequence.is_running() || sequence.output().empty()) return;
  const int32_t entry = lengths_.entry_of(request.tenant());
  const auto drawn = static_cast<int32_t>(sequence.output().size());
  lengths_.note_drawn(entry, drawn, true);
  lengths_.note_finished(entry, drawn, false);
}

std::vector<TokenEvent> Scheduler::take_events() {
  event_count_last_ = events_.size();
  std::vector<TokenEvent> taken = std::move(events_);
  events_ = {};
  events_.reserve(event_count_last_);
  return taken;
}

int64_t Scheduler::room() const {
  const int32_t free_rows = queue_.empty() ? limits_.max_running - running_count() : 0;
  return int64_t{limits_.max_queued_requests} - waiting_count() + std::max(free_rows, 0);
}

// --- the ends of things

Ledger Scheduler::retire(Request& request, Sequence& sequence, TimePoint now) {
  if (sequence.is_running()) {
    running_.remove(sequence);
    tenants_.note_running(request.tenant(), -1);
    totals_.paused_sequences += sequence.was_paused() ? 1 : 0;
    if (!sequence.was_paused()) margin_.note_never_paused();
  }
  if (const std::optional<uint64_t> step = steps_.drop(sequence)) {
    running_.keep(sequence.give_table(), std::max(sequence.planned_count(), sequence.prompt_length()), *step);
  }
  const Ledger ledger = sequence.finish(now);
  is_admission_due_ = true;
  if (!request.has_waiting()) queue_.remove(request);
  return ledger;
}

void Scheduler::finish(Request& request, Sequence& sequence, FinishReason reason, TimePoint now) {
  const Ledger ledger = retire(request, sequence, now);
  emit(request, SequenceFinished{.sequence = sequence.index(), .reason = reason, .ledger = ledger});
}

void Scheduler::end_all(Request& request, FinishReason reason, TimePoint now) {
  for (Sequence& sequence : request.sequences()) {
    if (!sequence.is_finished()) finish(request, sequence, reason, now);
  }
  forget_if_ended(request, now);
}

void Scheduler::fail(Request& request, const Status& status, TimePoint now) {
  std::optional<Ledger> oldest;
  for (Sequence& sequence : request.sequences()) {
    if (sequence.is_finished()) continue;
    const Ledger ledger = retire(request, sequence, now);
    if (!oldest) oldest = ledger;
  }
  emit(request, RequestFailed{.status = status, .ledger = oldest.value()});
  forget_if_ended(request, now);
}

void Scheduler::refuse(Request& request, Status status) {
  ++totals_.refused;
  events_.push_back({request.id(), Refused{std::move(status)}});
  queue_.remove(request);
  is_admission_due_ = true;  // others may have waited behind it
  forget(request);
}

void Scheduler::forget_if_ended(Request& request, TimePoint now) {
  if (request.has_unfinished()) return;
  departures_.note(now);
  forget(request);
}

void Scheduler::forget(Request& request) {
  tenants_.leave(request.tenant());
  deadlines_.erase({request.submission().deadline, request.id()});
  requests_.erase(request.id());
}

void Scheduler::accept(Request& request) {
  if (request.is_accepted()) return;
  request.accept();
  events_.push_back({request.id(), Accepted{}});
}

template <typename Event>
void Scheduler::emit(Request& request, Event event) {
  // One that ends before its first plan was still taken.
  accept(request);
  events_.push_back({request.id(), std::move(event)});
}

}  // namespace sluice::scheduler
