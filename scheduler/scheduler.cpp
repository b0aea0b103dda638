#include "scheduler/scheduler.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "base/check.h"

namespace sluice::scheduler {

Scheduler::Scheduler(const SchedulerConfig& config, kvcache::BlockPool& pool) : config_(config), pool_(pool) {
  SLUICE_CHECK(config_.validate().ok());
}

// --- commands

void Scheduler::submit(Submission submission, TimePoint now) {
  SLUICE_CHECK(!is_step_open_);
  const RequestId id = submission.id;
  const bool has_work = submission.max_new_tokens > 0 || submission.score_prompt;
  if (has_work && decide(submission).verdict == Verdict::kNeverFits) {
    ++totals_.refused;
    events_.push_back({id, Refused{never_fits(submission)}});
    return;
  }
  if (requests_.empty()) departures_.begin(now);
  const auto [entry, is_new] = requests_.try_emplace(id, std::move(submission), next_arrival_number_++);
  SLUICE_CHECK(is_new);
  Request& request = entry->second;
  queue_.push(request);
  newcomers_.push_back(id);
  if (request.submission().deadline != TimePoint::max()) deadlines_.emplace(request.submission().deadline, id);
  // It waits for nothing, so not in the queue either.
  if (!has_work) end_all(request, FinishReason::kLength, now);
}

Admission Scheduler::decide(const Submission& submission) const {
  const AdmissionView view{.blocks = pool_.counts(), .running = running_count(), .max_running = config_.max_running};
  return admit_by_reserve(view, final_blocks(submission));
}

int64_t Scheduler::final_blocks(const Submission& submission) const {
  return pool_.blocks_for(static_cast<int64_t>(submission.prompt.size()) + submission.max_new_tokens);
}

Status Scheduler::never_fits(const Submission& submission) const {
  const auto text = [](int64_t number) { return std::to_string(number); };
  const auto prompt = static_cast<int64_t>(submission.prompt.size());
  return invalid_field(
      "prompt", "of " + text(prompt) + " tokens and max_tokens of " + text(submission.max_new_tokens) + " need " +
                    text(prompt + submission.max_new_tokens) + " places in the KV cache, which has " +
                    text(int64_t{pool_.capacity()} * pool_.block_size()) + "; shorten the prompt or lower max_tokens");
}

void Scheduler::cancel(const Cancel& cancel, TimePoint now) {
  SLUICE_CHECK(!is_step_open_);
  const auto found = requests_.find(cancel.request);
  if (found == requests_.end()) return;
  Request& request = found->second;
  if (!cancel.sequence) return end_all(request, FinishReason::kCancelled, now);
  if (*cancel.sequence < 0 || *cancel.sequence >= request.submission().sequence_count) return;
  Sequence& sequence = request.sequences()[static_cast<size_t>(*cancel.sequence)];
  if (!sequence.is_finished()) finish(request, sequence, FinishReason::kCancelled, now);
  forget_if_ended(request, now);
}

void Scheduler::fail_all(const Status& status, TimePoint now) {
  is_step_open_ = false;
  while (!requests_.empty()) fail(requests_.begin()->second, status, now);
}

// --- plan

const StepPlan& Scheduler::plan(TimePoint now) {
  SLUICE_CHECK(!is_step_open_);
  plan_.clear();
  expire_deadlines(now);
  admit_waiting(now);
  refuse_overflow(now);
  accept_newcomers();
  slice_decodes(now);
  slice_prompts(now);
  // Whoever waits alone is admitted, and whoever runs has a slice: the loop can't spin, and can't sleep on a waiting
  // request.
  SLUICE_CHECK(plan_.empty() == !has_work());
  is_step_open_ = !plan_.empty();
  return plan_;
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
  while (!queue_.empty()) {
    Request& request = queue_.oldest();
    Sequence& sequence = *request.first_waiting();
    if (!sequence.has_work()) {
      finish(request, sequence, FinishReason::kLength, now);
      forget_if_ended(request, now);
    } else if (decide(request.submission()).verdict == Verdict::kAdmit) {
      admit(request, sequence);
    } else {
      return;
    }
  }
}

void Scheduler::admit(Request& request, Sequence& sequence) {
  accept(request);
  request.start();
  sequence.admit(pool_.reserve(static_cast<int32_t>(final_blocks(request.submission()))), next_admission_number_++);
  running_.emplace(sequence.admission_number(), &sequence);
  if (!request.has_waiting()) queue_.remove(request);
}

void Scheduler::refuse_overflow(TimePoint now) {
  const int32_t excess = queue_.unstarted_count() - config_.max_queued_requests;
  // The newest would have to wait for the most departures before there is a place.
  for (int32_t places = excess; places > 0; --places) {
    Status status = resource_exhausted("the queue is full: " + std::to_string(config_.max_queued_requests) +
                                       " requests are waiting")
                        .with_retry_after_ms(departures_.retry_after_ms(places));
    Request& request = queue_.newest();
    if (request.is_accepted()) {
      fail(request, status, now);  // one of its sequences was cancelled before this first plan
    } else {
      refuse(request, std::move(status));
    }
  }
}

void Scheduler::accept_newcomers() {
  for (const RequestId id : newcomers_) {
    if (const auto found = requests_.find(id); found != requests_.end()) accept(found->second);
  }
  newcomers_.clear();
}

void Scheduler::slice_decodes(TimePoint now) {
  for (const auto& [number, sequence] : running_) {
    if (!sequence->is_prefill()) add_slice(*sequence, 1, now);
  }
  plan_.decode_rows = static_cast<int32_t>(plan_.slices.size());
}

void Scheduler::slice_prompts(TimePoint now) {
  int32_t budget = std::max(config_.tokens_per_step - plan_.decode_rows, pool_.block_size());
  for (const auto& [number, sequence] : running_) {
    if (budget == 0) return;
    if (!sequence->is_prefill()) continue;
    const int32_t length = std::min(sequence->prompt_length() - sequence->computed_count(), budget);
    add_slice(*sequence, length, now);
    plan_.prefill_tokens += length;
    budget -= length;
  }
}

void Scheduler::add_slice(Sequence& sequence, int32_t length, TimePoint now) {
  const int32_t begin = sequence.computed_count();
  const int32_t end = begin + length;
  sequence.begin_slice(pool_.blocks_for(end), now);
  // The prompt's last token has no successor to score.
  const int32_t scored =
      sequence.scores_prompt() && sequence.is_prefill() ? std::min(end, sequence.prompt_length() - 1) - begin : 0;
  const bool draws = end == sequence.token_count() && sequence.submission().max_new_tokens > 0;
  plan_.slices.push_back({.sequence = &sequence, .begin = begin, .length = length, .scored = scored, .draws = draws});
}

// --- commit

void Scheduler::commit(const StepPlan& plan, engine::StepOutput output, TimePoint now) {
  SLUICE_CHECK(is_step_open_ && &plan == &plan_);
  is_step_open_ = false;
  totals_.prefill_tokens += static_cast<uint64_t>(plan.prefill_tokens);
  std::span<engine::SampledToken> samples = output.samples;
  for (const Slice& slice : plan.slices) {
    const size_t count = static_cast<size_t>(slice.scored) + (slice.draws ? 1 : 0);
    SLUICE_CHECK(count <= samples.size());
    commit_slice(slice, samples.first(count), now);
    samples = samples.subspan(count);
  }
  SLUICE_CHECK(samples.empty());
}

void Scheduler::commit_slice(const Slice& slice, std::span<engine::SampledToken> samples, TimePoint now) {
  Sequence& sequence = *slice.sequence;
  Request& request = requests_.at(sequence.submission().id);
  sequence.advance(slice.length);
  if (slice.scored > 0) {
    const auto scores = samples.first(static_cast<size_t>(slice.scored));
    emit(request, PromptScored{.first_position = slice.begin + 1,
                               .tokens = {std::move_iterator(scores.begin()), std::move_iterator(scores.end())}});
  }
  std::optional<FinishReason> reason;
  if (slice.draws) {
    ++totals_.decode_tokens;
    reason = sequence.append(samples.back().token, plan_.prefill_tokens > 0, now);
    emit(request, TokenSampled{.sequence = sequence.index(), .token = std::move(samples.back()), .time = now});
  } else if (!sequence.is_prefill()) {
    reason = FinishReason::kLength;  // only the prompt's scores were wanted
  }
  if (!reason) return;
  finish(request, sequence, *reason, now);
  forget_if_ended(request, now);
}

std::vector<TokenEvent> Scheduler::take_events() {
  event_count_last_ = events_.size();
  std::vector<TokenEvent> taken = std::move(events_);
  events_ = {};
  events_.reserve(event_count_last_);
  return taken;
}

int64_t Scheduler::room() const {
  const int32_t free_rows = queue_.empty() ? config_.max_running - running_count() : 0;
  return int64_t{config_.max_queued_requests} - waiting_count() + free_rows;
}

// --- the ends of things

Ledger Scheduler::retire(Request& request, Sequence& sequence, TimePoint now) {
  if (sequence.is_running()) running_.erase(sequence.admission_number());
  const Ledger ledger = sequence.finish(now);
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
  forget(request);
}

void Scheduler::forget_if_ended(Request& request, TimePoint now) {
  if (request.has_unfinished()) return;
  departures_.note(now);
  forget(request);
}

void Scheduler::forget(Request& request) {
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
