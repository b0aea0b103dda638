#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/sampling.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/submission.h"
#include "scheduler/token_event.h"

namespace sluice::scheduler {

/// One continuation of a request: its tokens, its blocks and where its time went. waiting -> running -> finished, or
/// waiting -> finished.
///
/// Its tokens are the prompt and then the output; the first computed_count() of them are in the cache. The last output
/// token isn't until the step that draws the next one. From its admission on it has the blocks of its whole prompt.
///
/// While steps are under way, planned_count() and foreseen_count() say where they will leave it: with as many tokens in
/// the cache, and as many tokens, if none that is being drawn is its last. What is planned next goes on from there.
class Sequence {
 public:
  /// The submission is lent and must outlive the sequence. `index` is 0 .. sequence_count - 1.
  Sequence(const Submission& submission, int32_t index) : submission_(&submission), index_(index) {}

  const Submission& submission() const { return *submission_; }
  int32_t index() const { return index_; }
  bool is_waiting() const { return state_ == State::kWaiting; }
  bool is_running() const { return state_ == State::kRunning; }
  bool is_finished() const { return state_ == State::kFinished; }

  int32_t prompt_length() const { return static_cast<int32_t>(submission_->prompt.size()); }
  std::span<const int32_t> output() const { return output_; }
  int32_t token_count() const { return prompt_length() + static_cast<int32_t>(output_.size()); }
  int32_t computed_count() const { return computed_count_; }
  int32_t planned_count() const { return planned_count_; }
  int32_t foreseen_count() const { return token_count() + drawing_; }
  int32_t token_at(int32_t position) const;
  /// Some of its prompt is not in the cache yet. While it is running, the opposite means that it decodes.
  bool is_prefill() const { return computed_count_ < prompt_length(); }
  /// Some of its prompt isn't planned yet either.
  bool has_prompt_left() const { return planned_count_ < prompt_length(); }
  /// A token of it is being drawn.
  bool is_drawing() const { return drawing_ > 0; }
  /// Which sample of the last step that it was planned in is its token.
  int32_t last_sample() const { return last_sample_; }
  /// Its next row can't be launched before the token that is being drawn is known: penalties look at it.
  bool waits_for_token() const { return is_drawing() && left() > 0 && submission_->sampling.has_penalties(); }
  /// Only sequence 0 scores: the siblings' prompt is the same.
  bool scores_prompt() const { return index_ == 0 && submission_->score_prompt; }
  /// Whether it needs any step at all: it draws tokens, or scores its prompt.
  bool has_work() const { return submission_->max_new_tokens > 0 || scores_prompt(); }
  /// Siblings draw with streams of their own; sequence 0 draws with the request's seed itself, as it would with n = 1.
  uint64_t seed() const;

  std::span<const int32_t> block_table() const { return table_.blocks(); }
  const kvcache::BlockTable& table() const { return table_; }
  /// Tokens it may still draw, those that are being drawn left out.
  int32_t left() const { return submission_->max_new_tokens - drawn_count(); }
  /// Output tokens, with those that are being drawn.
  int32_t drawn_count() const { return static_cast<int32_t>(output_.size()) + drawing_; }
  /// Its place in the order of admission, from 0; of a sequence that has been admitted.
  uint64_t admission_number() const { return admission_number_; }
  /// The key of the last block that was published, or what the first one follows.
  const kvcache::BlockKey& last_key() const { return last_key_; }
  void set_last_key(const kvcache::BlockKey& key) { last_key_ = key; }
  /// It draws only now and then; see RowThrottle.
  bool is_slow() const { return is_slow_; }
  void set_slow(bool slow) { is_slow_ = slow; }
  bool was_paused() const { return was_paused_; }
  /// It was left out of the last step that has begun.
  bool is_paused() const { return pause_began_.has_value(); }
  TimePoint last_token() const { return ledger_.last_token; }

  /// waiting -> running, with the blocks of its prompt, of which the first `cached_tokens` tokens are in the cache.
  void admit(kvcache::BlockTable table, int32_t cached_tokens, uint64_t admission_number);
  void take_block() { table_.take(); }
  /// A step computes the `length` tokens after those planned, and draws the one after them as its sample `sample`, if
  /// there is one.
  void plan_slice(int32_t length, std::optional<int32_t> sample);
  /// A step that it has a part in begins. The first call starts the prefill.
  void begin_slice(TimePoint now);
  /// A step begins in which it would decode, but has no part.
  void pause(TimePoint now);
  /// The next `length` tokens, which were planned, are in the cache.
  void advance(int32_t length);
  /// The token that was being drawn is known at `now`, from a step that computed somebody's prompt or not. The reason
  /// if it was the last one.
  std::optional<FinishReason> append(int32_t token, bool step_has_prefill, TimePoint now);
  /// Hands its blocks over: they are still written to.
  kvcache::BlockTable give_table() { return std::move(table_); }
  /// waiting or running -> finished; gives the blocks back that it still has.
  Ledger finish(TimePoint now);

 private:
  enum class State { kWaiting, kRunning, kFinished };

  void account_token(bool step_has_prefill, TimePoint now);

  const Submission* submission_;
  int32_t index_;
  State state_ = State::kWaiting;
  bool has_started_ = false;  // the step of its first slice has begun; ledger_.admitted is set
  bool is_slow_ = false;
  bool was_paused_ = false;
  int32_t computed_count_ = 0;
  int32_t planned_count_ = 0;  // >= computed_count_
  int32_t drawing_ = 0;        // tokens that steps under way draw
  int32_t last_sample_ = 0;
  uint64_t admission_number_ = 0;
  std::vector<int32_t> output_;
  kvcache::BlockTable table_;
  kvcache::BlockKey last_key_;
  std::optional<TimePoint> pause_began_;
  Duration pause_in_gap_{};  // since the last token
  Ledger ledger_;
};

}  // namespace sluice::scheduler
