#include "bench/answer_timer.h"

namespace sluice::bench {

void AnswerTimer::observe_tokens(int32_t tokens) {
  end_ = clock_.now();
  if (first_) gaps_.push_back(end_ - last_);
  if (!first_) first_ = end_;
  gaps_.resize(gaps_.size() + static_cast<size_t>(tokens - 1), Duration::zero());
  last_ = end_;
  tokens_counted_ += tokens;
  ++pieces_;
}

void AnswerTimer::observe_usage(int32_t prompt_tokens, int32_t completion_tokens) {
  end_ = clock_.now();
  prompt_tokens_ = prompt_tokens;
  completion_tokens_ = completion_tokens;
}

AnswerTiming AnswerTimer::timing() const {
  AnswerTiming timing;
  timing.gaps = gaps_;
  timing.prompt_tokens = prompt_tokens_;
  timing.completion_tokens = completion_tokens_.value_or(tokens_counted_);
  timing.has_usage = completion_tokens_.has_value();
  if (first_) timing.ttft = *first_ - due_;
  if (pieces_ >= 2 && timing.completion_tokens >= 2) timing.tpot = (last_ - *first_) / (timing.completion_tokens - 1);
  timing.end_to_end = end_ - due_;
  return timing;
}

}  // namespace sluice::bench
