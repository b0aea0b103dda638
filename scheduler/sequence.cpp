#include "scheduler/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"

namespace sluice::scheduler {

int32_t Sequence::token_at(int32_t position) const {
  SLUICE_CHECK(position >= 0 && position < token_count());
  if (position < prompt_length()) return submission_->prompt[static_cast<size_t>(position)];
  return output_[static_cast<size_t>(position - prompt_length())];
}

uint64_t Sequence::seed() const {
  if (index_ == 0) return submission_->seed;
  return random_bits(submission_->seed, static_cast<uint64_t>(index_));
}

void Sequence::admit(kvcache::BlockTable table, int32_t cached_tokens, uint64_t admission_number) {
  SLUICE_CHECK(is_waiting());
  SLUICE_CHECK(cached_tokens < prompt_length());
  state_ = State::kRunning;
  admission_number_ = admission_number;
  table_ = std::move(table);
  computed_count_ = planned_count_ = cached_tokens;
  ledger_.cached_tokens = cached_tokens;
  // No allocation from here to the last token.
  output_.reserve(static_cast<size_t>(submission_->max_new_tokens));
}

void Sequence::plan_slice(int32_t length, std::optional<int32_t> sample) {
  SLUICE_CHECK(is_running());
  SLUICE_CHECK(length > 0 && planned_count_ + length <= foreseen_count());
  planned_count_ += length;
  if (!sample) return;
  ++drawing_;
  last_sample_ = *sample;
}

void Sequence::begin_slice(TimePoint now) {
  SLUICE_CHECK(is_running());
  if (!has_started_) {
    has_started_ = true;
    ledger_.admitted = now;
  }
  if (pause_began_) pause_in_gap_ += now - *pause_began_;
  pause_began_.reset();
}

void Sequence::pause(TimePoint now) {
  was_paused_ = true;
  if (!pause_began_) pause_began_ = now;
}

void Sequence::advance(int32_t length) {
  SLUICE_CHECK(length > 0 && computed_count_ + length <= std::min(token_count(), planned_count_));
  computed_count_ += length;
}

std::optional<FinishReason> Sequence::append(int32_t token, bool step_has_prefill, TimePoint now) {
  SLUICE_CHECK(is_running() && is_drawing() && computed_count_ == token_count());
  --drawing_;
  account_token(step_has_prefill, now);
  output_.push_back(token);
  const std::vector<int32_t>& stops = submission_->stop_token_ids;
  if (std::find(stops.begin(), stops.end(), token) != stops.end()) return FinishReason::kStop;
  if (static_cast<int32_t>(output_.size()) >= submission_->max_new_tokens) return FinishReason::kLength;
  return std::nullopt;
}

void Sequence::account_token(bool step_has_prefill, TimePoint now) {
  if (output_.empty()) {
    ledger_.first_token = now;
  } else {
    // But for its pauses, a decoding sequence is in every step, so the gap belongs to the step that ends it.
    (step_has_prefill ? ledger_.interference : ledger_.decode) += now - ledger_.last_token - pause_in_gap_;
    ledger_.pause += pause_in_gap_;
    pause_in_gap_ = {};
  }
  ledger_.last_token = now;
}

Ledger Sequence::finish(TimePoint now) {
  SLUICE_CHECK(!is_finished());
  state_ = State::kFinished;
  table_.release();
  if (!has_started_) ledger_.admitted = now;
  ledger_.arrival = submission_->arrival;
  ledger_.finished = now;
  ledger_.queue = ledger_.admitted - ledger_.arrival;
  ledger_.prefill = (output_.empty() ? now : ledger_.first_token) - ledger_.admitted;
  ledger_.prompt_tokens = prompt_length();
  ledger_.output_tokens = static_cast<int32_t>(output_.size());
  return ledger_;
}

}  // namespace sluice::scheduler
