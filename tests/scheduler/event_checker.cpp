#include "tests/scheduler/event_checker.h"

#include <algorithm>
#include <variant>

#include <gtest/gtest.h>

#include "tests/scheduler/counted_blocks.h"

namespace sluice::scheduler {
namespace {

bool is_stop(const RequestRecord& record, int32_t token) {
  const std::vector<int32_t>& stops = record.submission.stop_token_ids;
  return std::find(stops.begin(), stops.end(), token) != stops.end();
}

}  // namespace

void EventChecker::check(const std::vector<TokenEvent>& events, bool step_has_prefill, TimePoint now) {
  step_has_prefill_ = step_has_prefill;
  now_ = now;
  overflow_.clear();
  for (const TokenEvent& event : events) {
    RequestRecord& record = records_.at(event.request);
    EXPECT_FALSE(record.is_refused) << "Refused is the only event";
    if (!std::holds_alternative<Refused>(event.what) && !std::holds_alternative<Accepted>(event.what)) {
      EXPECT_TRUE(record.is_accepted) << "Accepted is the first event";
    }
    std::visit([&](const auto& what) { on(record, what); }, event.what);
  }
  check_overflow();
}

void EventChecker::on(RequestRecord& record, const Accepted&) {
  EXPECT_FALSE(record.is_accepted) << "Accepted comes once";
  record.is_accepted = true;
}

void EventChecker::on(RequestRecord& record, const Refused& refused) {
  EXPECT_FALSE(record.is_accepted);
  record.is_refused = true;
  if (counted_blocks(scheduler_.pool().growth(), record.tokens_max()) > scheduler_.pool().capacity()) {
    EXPECT_EQ(refused.status.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(record.has_work(0));
    return;
  }
  if (refused.status.code() == StatusCode::kDeadlineExceeded) {
    EXPECT_NE(record.submission.deadline, TimePoint::max());
    EXPECT_TRUE(scheduler_.step_time().is_known()) << "refused by a prediction";
    return;
  }
  EXPECT_EQ(refused.status.code(), StatusCode::kResourceExhausted);
  EXPECT_GE(refused.status.retry_after_ms(), 1);
  note_overflow(record);
}

/// The plan that refuses may have started it, which the records don't know yet.
bool EventChecker::waits_unstarted(const RequestRecord& record) const {
  if (record.is_refused || record.has_ended() || record.has_started()) return false;
  const std::vector<RunningRow>& running = scheduler_.running();
  return std::none_of(running.begin(), running.end(),
                      [&](const RunningRow& row) { return row.sequence->submission().id == record.submission.id; });
}

void EventChecker::note_overflow(const RequestRecord& refused) {
  overflow_.push_back(&refused);
  const SchedulerConfig& config = scheduler_.config();
  if (config.max_queued_per_tenant > 0 || config.max_queued_tokens < 1000) return;
  for (const auto& [id, other] : records_) {
    if (id <= refused.submission.id || !waits_unstarted(other)) continue;
    ADD_FAILURE() << "request " << refused.submission.id.value << " was refused and the newer " << id.value
                  << " was not";
  }
}

/// With those refused back in the queue, one of its limits would be broken.
void EventChecker::check_overflow() const {
  if (overflow_.empty()) return;
  const SchedulerConfig& config = scheduler_.config();
  int64_t tokens = scheduler_.waiting_prompt_tokens();
  std::map<std::string, int32_t> by_tenant;
  for (const auto& [id, record] : records_) {
    if (waits_unstarted(record)) ++by_tenant[record.submission.tenant];
  }
  for (const RequestRecord* refused : overflow_) {
    tokens += static_cast<int64_t>(refused->submission.prompt.size());
    ++by_tenant[refused->submission.tenant];
  }
  const int64_t count = scheduler_.waiting_count() + static_cast<int64_t>(overflow_.size());
  for (const RequestRecord* refused : overflow_) {
    EXPECT_TRUE(
        count > config.max_queued_requests || tokens > config.max_queued_tokens ||
        (config.max_queued_per_tenant > 0 && by_tenant[refused->submission.tenant] > config.max_queued_per_tenant))
        << "refused with room in the queue";
  }
}

void EventChecker::on(RequestRecord&, const Explained&) {
  ADD_FAILURE() << "nobody asked";
}

void EventChecker::on(RequestRecord& record, const PromptScored& scored) {
  EXPECT_TRUE(record.submission.score_prompt);
  EXPECT_FALSE(record.sequences[0].has_ended);
  EXPECT_FALSE(scored.tokens.empty());
  EXPECT_EQ(scored.first_position, static_cast<int32_t>(record.scored_count) + 1);
  for (const SequenceRecord& sequence : record.sequences) EXPECT_TRUE(sequence.tokens.empty()) << "scores come first";
  for (const engine::SampledToken& token : scored.tokens) {
    ASSERT_LT(record.scored_count, record.expected_scores.size());
    const engine::SampledToken& expected = record.expected_scores[record.scored_count++];
    EXPECT_EQ(token.token, expected.token);
    EXPECT_EQ(token.logprob, expected.logprob) << "the score is the one of the request alone";
  }
}

void EventChecker::on(RequestRecord& record, const TokenSampled& sampled) {
  SequenceRecord& sequence = record.sequences.at(static_cast<size_t>(sampled.sequence));
  EXPECT_FALSE(sequence.has_ended) << "nothing follows a sequence's last event";
  EXPECT_EQ(sampled.time, now_);
  ASSERT_LT(sequence.tokens.size(), sequence.expected.size()) << "a token too many";
  EXPECT_EQ(sampled.token.token, sequence.expected[sequence.tokens.size()])
      << "the output is the one of the request alone";
  if (sequence.tokens.empty()) {
    sequence.first_token = now_;
  } else {
    (step_has_prefill_ ? sequence.interference : sequence.decode) += now_ - sequence.last_token - sequence.pause_in_gap;
    sequence.pause += sequence.pause_in_gap;
    sequence.pause_in_gap = {};
  }
  sequence.last_token = now_;
  sequence.tokens.push_back(sampled.token.token);
}

void EventChecker::on(RequestRecord& record, const SequenceFinished& finished) {
  SequenceRecord& sequence = record.sequences.at(static_cast<size_t>(finished.sequence));
  EXPECT_FALSE(sequence.has_ended) << "one terminal event";
  sequence.has_ended = true;
  check_ledger(record, sequence, finished.ledger);
  EXPECT_EQ(finished.reason == FinishReason::kCancelled, sequence.is_cancelled);
  if (finished.reason == FinishReason::kCancelled) return;
  EXPECT_EQ(sequence.tokens, sequence.expected) << "ended early";
  const bool stopped = !sequence.tokens.empty() && is_stop(record, sequence.tokens.back());
  EXPECT_EQ(finished.reason, stopped ? FinishReason::kStop : FinishReason::kLength);
  EXPECT_TRUE(finished.sequence != 0 || record.scored_count == record.expected_scores.size());
}

void EventChecker::on(RequestRecord& record, const RequestFailed& failed) {
  EXPECT_FALSE(record.has_ended()) << "one terminal event";
  if (failed.status.code() == StatusCode::kDeadlineExceeded) {
    EXPECT_LE(record.submission.deadline, now_);
  } else if (failed.status.code() == StatusCode::kResourceExhausted) {
    // Part of it was cancelled in the tick it came, so it could not be refused as if nothing had happened.
    EXPECT_TRUE(record.sequences.size() > 1 && !record.has_started());
    note_overflow(record);
  } else {
    EXPECT_TRUE(failures_.contains(failed.status.code())) << failed.status;
  }
  bool is_oldest = true;
  for (SequenceRecord& sequence : record.sequences) {
    if (sequence.has_ended) continue;
    if (is_oldest) check_ledger(record, sequence, failed.ledger);
    is_oldest = false;
    sequence.has_ended = true;
  }
}

void EventChecker::check_ledger(const RequestRecord& request, const SequenceRecord& record,
                                const Ledger& ledger) const {
  const bool has_tokens = !record.tokens.empty();
  EXPECT_EQ(ledger.prompt_tokens, static_cast<int32_t>(request.submission.prompt.size()));
  EXPECT_EQ(ledger.output_tokens, static_cast<int32_t>(record.tokens.size()));
  EXPECT_EQ(ledger.arrival, request.submission.arrival);
  EXPECT_EQ(ledger.finished, now_);
  EXPECT_EQ(ledger.admitted, record.first_slice.value_or(now_));
  EXPECT_EQ(ledger.queue, ledger.admitted - ledger.arrival);
  EXPECT_EQ(ledger.decode, record.decode);
  EXPECT_EQ(ledger.interference, record.interference);
  EXPECT_EQ(ledger.pause, record.pause);
  EXPECT_EQ(ledger.cached_tokens, record.cached);
  if (has_tokens) {
    EXPECT_EQ(ledger.first_token, record.first_token);
    EXPECT_EQ(ledger.last_token, record.last_token);
  }
  const TimePoint end = has_tokens ? ledger.last_token : ledger.finished;
  EXPECT_EQ(ledger.queue + ledger.prefill + ledger.decode + ledger.interference + ledger.pause, end - ledger.arrival);
}

}  // namespace sluice::scheduler
