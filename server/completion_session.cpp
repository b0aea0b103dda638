#include "server/completion_session.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"

namespace sluice::server {

namespace {

using scheduler::FinishReason;

/// Prompt tokens in one event; small for the same reason as StreamBuffer::kMessageTokensMax.
constexpr size_t kEchoTokensMax = 256;

Status too_slow_status() {
  return resource_exhausted("reader too slow: the answer ran ahead by more than server.stream_buffer_tokens");
}

/// A client's own clock ends its call a little before the daemon's: the way here takes time, and gRPC rounds what is
/// left up.
bool ends_by_deadline(const AnswerTerms& terms, TimePoint now) {
  if (terms.deadline == TimePoint::max()) return false;
  return now + std::chrono::milliseconds(20) + (terms.deadline - terms.arrival) / 64 >= terms.deadline;
}

Outcome outcome_of_refusal(const Status& status) {
  if (status.code() == StatusCode::kInvalidArgument) return Outcome::kInvalid;
  return status.code() == StatusCode::kDeadlineExceeded ? Outcome::kDeadline : Outcome::kRefused;
}

Outcome outcome_of_failure(const Status& status) {
  return status.code() == StatusCode::kDeadlineExceeded ? Outcome::kDeadline : Outcome::kError;
}

}  // namespace

CompletionSession::CompletionSession(RequestId id, AnswerTerms terms, const SessionServices& services,
                                     std::shared_ptr<CompletionSink> sink, KeyUse::Lease lease)
    : id_(id),
      terms_(std::move(terms)),
      services_(services),
      sink_(std::move(sink)),
      lease_(std::move(lease)),
      open_choices_(terms_.choice_count) {
  choices_.reserve(static_cast<size_t>(terms_.choice_count));
  for (int32_t i = 0; i < terms_.choice_count; ++i) choices_.emplace_back(services_.tokenizer, terms_.stops);
}

void CompletionSession::take(scheduler::TokenEvent event) {
  SLUICE_CHECK(!done_);
  std::visit([this](const auto& what) { on(what); }, event.what);
}

void CompletionSession::abandon(const Status& status) {
  scheduler::Ledger ledger;
  ledger.arrival = terms_.arrival;
  ledger.admitted = ledger.finished = services_.clock.now();
  ledger.queue = ledger.finished - ledger.arrival;
  on(scheduler::RequestFailed{status, ledger});
}

void CompletionSession::on(const scheduler::Accepted& /*accepted*/) {
  tell(RequestOpened{id_, terms_.prompt_tokens});
  if (terms_.echoed_prompt.empty()) return;
  // With scores only the first token can be told now: it has none. The others come as the loop computes them.
  const size_t count = terms_.scores_prompt ? 1 : terms_.echoed_prompt.size();
  std::vector<TokenReport> tokens;
  for (const int32_t id : std::span(terms_.echoed_prompt).first(count)) tokens.push_back({id, {}, {}});
  echo_prompt(std::move(tokens));
}

void CompletionSession::on(const scheduler::Refused& refused) {
  lease_.release();
  tell(RequestDenied{refused.status});
  services_.metrics.observe_request(
      {.outcome = outcome_of_refusal(refused.status), .was_accepted = false, .tenant = terms_.tenant});
  const TimePoint now = services_.clock.now();
  record(outcome_of_refusal(refused.status), std::nullopt, now, refused.status.message());
  done_ = true;
}

void CompletionSession::on(const scheduler::Explained& /*explained*/) {
  SLUICE_CHECK(false);  // comes under the id of an ExplainSession
}

void CompletionSession::on(const scheduler::PromptScored& scored) {
  if (is_muted() || terms_.echoed_prompt.empty()) return;
  std::vector<TokenReport> tokens;
  for (const engine::SampledToken& token : scored.tokens) tokens.push_back(report(token));
  echo_prompt(std::move(tokens));
}

void CompletionSession::echo_prompt(std::vector<TokenReport> tokens) {
  for (size_t begin = 0; begin < tokens.size(); begin += kEchoTokensMax) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = tokens.begin() + static_cast<std::ptrdiff_t>(std::min(tokens.size(), begin + kEchoTokensMax));
    PromptEcho echo{echoed_tokens_, {std::make_move_iterator(first), std::make_move_iterator(last)}};
    echoed_tokens_ += static_cast<int32_t>(echo.tokens.size());
    tell(std::move(echo));
  }
}

void CompletionSession::on(const scheduler::TokenSampled& sampled) {
  Choice& choice = choices_[static_cast<size_t>(sampled.sequence)];
  // Tokens behind a stop string were on their way when it was found.
  if (is_muted() || choice.stop_matcher.stopped()) return;
  count_token(choice, sampled);
  ChoiceText piece{sampled.sequence, next_text(choice, sampled.token.token), {}};
  piece.tokens.push_back(report(sampled.token));
  if (choice.stop_matcher.stopped()) services_.mailbox.post(scheduler::Cancel{id_, sampled.sequence});
  tell(std::move(piece));
}

void CompletionSession::count_token(Choice& choice, const scheduler::TokenSampled& sampled) {
  if (!first_token_) {
    first_token_ = sampled.time;
    observe_first_token(sampled.time);
  }
  if (choice.token_count == 0) {
    choice.first_token = sampled.time;
  } else {
    observe_token_gap(sampled.time, sampled.time - choice.last_token);
  }
  choice.last_token = sampled.time;
  ++choice.token_count;
}

void CompletionSession::observe_first_token(TimePoint time) {
  services_.metrics.observe_first_token(terms_.tenant, time - terms_.arrival);
  if (services_.recent != nullptr) services_.recent->first_token.observe(time, time - terms_.arrival);
}

void CompletionSession::observe_token_gap(TimePoint time, Duration gap) {
  services_.metrics.observe_token_gap(gap);
  if (services_.recent != nullptr) services_.recent->token_gap.observe(time, gap);
}

void CompletionSession::observe_sequence(const scheduler::Ledger& ledger) {
  services_.metrics.observe_sequence(ledger);
  if (services_.recent == nullptr || ledger.output_tokens < 2) return;
  services_.recent->per_output_token.observe(ledger.last_token,
                                             (ledger.last_token - ledger.first_token) / (ledger.output_tokens - 1));
}

std::string CompletionSession::next_text(Choice& choice, int32_t token) {
  if (std::ranges::binary_search(terms_.stop_token_ids, token)) {
    choice.stop_token_id = token;
    return {};
  }
  return choice.stop_matcher.push(choice.detokenizer.push(token));
}

void CompletionSession::on(const scheduler::SequenceFinished& finished) {
  Choice& choice = choices_[static_cast<size_t>(finished.sequence)];
  SLUICE_CHECK(!choice.ended);
  flush_text(finished.sequence);
  choice.ended = true;
  --open_choices_;
  queue_ = std::min(queue_.value_or(Duration::max()), finished.ledger.queue);
  if (finished.sequence == 0) cached_tokens_ = finished.ledger.cached_tokens;
  note_reason(finished.sequence, finished.reason);
  // The metrics see the sequence as the client does: without what came behind a stop string.
  scheduler::Ledger seen = finished.ledger;
  seen.output_tokens = choice.token_count;
  seen.first_token = choice.first_token;
  seen.last_token = choice.last_token;
  observe_sequence(seen);

  if (open_choices_ > 0) {
    tell(end_of(finished.sequence, finished.reason));
  } else if (too_slow_) {
    fail(too_slow_status(), finished.ledger);
  } else {
    tell_last_end(finished.sequence, finished.reason, finished.ledger);
  }
}

/// What the text still holds back, now that nothing can follow.
void CompletionSession::flush_text(int32_t index) {
  Choice& choice = choices_[static_cast<size_t>(index)];
  if (choice.stop_matcher.stopped()) return;
  std::string text = choice.stop_matcher.push(choice.detokenizer.flush());
  if (!choice.stop_matcher.stopped()) text += choice.stop_matcher.flush();
  if (!text.empty()) tell(ChoiceText{index, std::move(text), {}});
}

void CompletionSession::note_reason(int32_t index, FinishReason reason) {
  const bool stopped = reason == FinishReason::kStop || choices_[static_cast<size_t>(index)].stop_matcher.stopped();
  any_stop_ |= stopped;
  any_cancelled_ |= !stopped && reason == FinishReason::kCancelled;
}

ChoiceEnd CompletionSession::end_of(int32_t index, FinishReason reason) const {
  const Choice& choice = choices_[static_cast<size_t>(index)];
  ChoiceEnd end{.choice = index, .reason = reason, .stop = {}, .stop_token_id = {}, .totals = {}};
  if (choice.stop_matcher.stopped()) {
    end.reason = FinishReason::kStop;
    end.stop = choice.stop_matcher.matched();
  } else if (reason == FinishReason::kStop) {
    end.stop_token_id = choice.stop_token_id;
  }
  return end;
}

void CompletionSession::tell_last_end(int32_t index, FinishReason reason, const scheduler::Ledger& ledger) {
  lease_.release();
  ChoiceEnd end = end_of(index, reason);
  end.totals = Totals{usage(), timing(ledger)};
  tell(std::move(end));
  finish(outcome_of_ends(), ledger);
}

void CompletionSession::on(const scheduler::RequestFailed& failed) {
  // Choices that a stop string had ended have nothing to lose by the failure, only their confirmation is missing.
  std::optional<int32_t> last_stopped;
  for (int32_t i = 0; i < terms_.choice_count; ++i) {
    Choice& choice = choices_[static_cast<size_t>(i)];
    if (choice.ended || !choice.stop_matcher.stopped()) continue;
    choice.ended = true;
    --open_choices_;
    if (last_stopped) tell(end_of(*last_stopped, FinishReason::kStop));
    last_stopped = i;
  }
  if (open_choices_ == 0 && last_stopped && !too_slow_) {
    tell_last_end(*last_stopped, FinishReason::kStop, failed.ledger);
    return;
  }
  if (last_stopped) tell(end_of(*last_stopped, FinishReason::kStop));
  fail(too_slow_ ? too_slow_status() : failed.status, failed.ledger);
}

void CompletionSession::fail(const Status& status, const scheduler::Ledger& ledger) {
  lease_.release();
  if (!reader_gone_) sink_->deliver(RequestError{status, {usage(), timing(ledger)}});
  finish(outcome_of_failure(status), ledger, status.message());
}

void CompletionSession::finish(Outcome outcome, const scheduler::Ledger& ledger, std::string error) {
  const Usage used = usage();
  const TimePoint now = services_.clock.now();
  services_.metrics.observe_request({.outcome = outcome,
                                     .tenant = terms_.tenant,
                                     .prompt_tokens = used.prompt_tokens,
                                     .cached_tokens = used.cached_tokens,
                                     .output_tokens = used.completion_tokens,
                                     .max_tokens = terms_.max_tokens,
                                     .choices = terms_.choice_count,
                                     .queue = queue_.value_or(ledger.queue),
                                     .end_to_end = now - terms_.arrival});
  services_.metrics.observe_ledger(ledger, now - timing(ledger).computed);
  record(outcome, timing(ledger), now, std::move(error));
  done_ = true;
}

void CompletionSession::record(Outcome outcome, const std::optional<RequestTiming>& timing, TimePoint now,
                               std::string error) const {
  if (services_.journal == nullptr) return;
  services_.journal->note({.id = id_,
                           .client_id = terms_.client_id,
                           .trace = terms_.trace,
                           .outcome = outcome,
                           .error = std::move(error),
                           .was_accepted = timing.has_value(),
                           .tenant = terms_.tenant,
                           .is_chat = terms_.kind == AskKind::kChat,
                           .priority = terms_.priority,
                           .choice_count = terms_.choice_count,
                           .max_tokens = terms_.max_tokens,
                           .usage = usage(),
                           .timing = timing.value_or(RequestTiming{.arrival = terms_.arrival, .computed = now}),
                           .ended = now,
                           .until_deadline = terms_.deadline == TimePoint::max()
                                                 ? std::nullopt
                                                 : std::optional(terms_.deadline - terms_.arrival)});
}

Outcome CompletionSession::outcome_of_ends() const {
  if (any_cancelled_) {
    return ends_by_deadline(terms_, services_.clock.now()) ? Outcome::kDeadline : Outcome::kCancelled;
  }
  return any_stop_ ? Outcome::kStop : Outcome::kLength;
}

void CompletionSession::tell(CompletionEvent event) {
  if (is_muted()) return;
  switch (sink_->deliver(std::move(event))) {
    case Delivery::kTaken:
      return;
    case Delivery::kGone:
      reader_gone_ = true;
      return;
    case Delivery::kTooSlow:
      too_slow_ = true;
      services_.mailbox.post(scheduler::Cancel{id_, std::nullopt});
      return;
  }
}

Usage CompletionSession::usage() const {
  Usage usage{.prompt_tokens = terms_.prompt_tokens, .completion_tokens = 0, .cached_tokens = cached_tokens_};
  for (const Choice& choice : choices_) usage.completion_tokens += choice.token_count;
  return usage;
}

RequestTiming CompletionSession::timing(const scheduler::Ledger& ledger) const {
  RequestTiming timing;
  timing.arrival = ledger.arrival;
  timing.computed = ledger.output_tokens > 0 ? ledger.last_token : ledger.finished;
  timing.queue = ledger.queue;
  timing.prefill = ledger.prefill;
  timing.decode = ledger.decode;
  timing.interference = ledger.interference;
  timing.pause = ledger.pause;
  if (first_token_) timing.ttft = *first_token_ - terms_.arrival;
  const Choice& first = choices_.front();
  if (first.token_count >= 2) timing.tpot = (first.last_token - first.first_token) / (first.token_count - 1);
  return timing;
}

TokenReport CompletionSession::report(const engine::SampledToken& token) const {
  TokenReport report{.id = token.token, .logprob = {}, .top = {}};
  if (terms_.reports_logprobs) {
    report.logprob = token.logprob;
    report.top = token.top;
  }
  return report;
}

}  // namespace sluice::server
