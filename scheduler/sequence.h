#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/sampling.h"
#include "kvcache/block_pool.h"
#include "scheduler/submission.h"
#include "scheduler/token_event.h"

namespace sluice::scheduler {

/// One continuation of a request: its tokens, its blocks and where its time went. waiting -> running -> finished, or
/// waiting -> finished.
///
/// Its tokens are the prompt and then the output; the first computed_count() of them are in the cache. The last output
/// token isn't until the step that draws the next one.
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
  int32_t token_at(int32_t position) const;
  /// Some of its prompt is not in the cache yet. While it is running, the opposite means that it decodes.
  bool is_prefill() const { return computed_count_ < prompt_length(); }
  /// Only sequence 0 scores: the siblings' prompt is the same.
  bool scores_prompt() const { return index_ == 0 && submission_->score_prompt; }
  /// Whether it needs any step at all: it draws tokens, or scores its prompt.
  bool has_work() const { return submission_->max_new_tokens > 0 || scores_prompt(); }
  /// Siblings draw with streams of their own; sequence 0 draws with the request's seed itself, as it would with n = 1.
  uint64_t seed() const;

  std::span<const int32_t> block_table() const { return reservation_.block_table(); }
  int32_t final_block_count() const { return reservation_.final_count(); }
  /// Its place in the order of admission, from 0; of a sequence that has been admitted.
  uint64_t admission_number() const { return admission_number_; }

  /// waiting -> running.
  void admit(kvcache::Reservation reservation, uint64_t admission_number);
  /// The next tokens are going to be computed; blocks are taken until the table has `block_count`. The first call
  /// starts the prefill.
  void begin_slice(int64_t block_count, TimePoint now);
  /// The next `length` tokens are in the cache.
  void advance(int32_t length);
  /// A token was drawn at `now`, in a step that computed somebody's prompt or not. The reason if it was the last one.
  std::optional<FinishReason> append(int32_t token, bool step_has_prefill, TimePoint now);
  /// waiting or running -> finished; gives the blocks back.
  Ledger finish(TimePoint now);

 private:
  enum class State { kWaiting, kRunning, kFinished };

  void account_token(bool step_has_prefill, TimePoint now);

  const Submission* submission_;
  int32_t index_;
  State state_ = State::kWaiting;
  bool has_started_ = false;  // its first slice was planned; ledger_.admitted is set
  int32_t computed_count_ = 0;
  uint64_t admission_number_ = 0;
  std::vector<int32_t> output_;
  kvcache::Reservation reservation_;
  Ledger ledger_;
};

}  // namespace sluice::scheduler
