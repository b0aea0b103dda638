#include "client/stream_stopwatch.h"

namespace sluice::client {

void StreamStopwatch::observe(const v1::CompleteEvent& event) {
  end_ = clock_.now();
  if (event.has_tokens()) observe_tokens(event.tokens(), end_);
  if (event.has_finished() && event.finished().has_usage())
    usage_tokens_ = event.finished().usage().completion_tokens();
  if (event.has_error() && event.error().has_usage()) usage_tokens_ = event.error().usage().completion_tokens();
}

void StreamStopwatch::observe_tokens(const v1::Tokens& tokens, TimePoint now) {
  // Text that was held back may come without a token of its own.
  if (tokens.tokens().empty()) return;
  if (!first_token_) first_token_ = now;
  tokens_counted_ += tokens.tokens_size();
  if (tokens.index() != 0) {
    has_other_choices_ = true;
    return;
  }
  if (first_choice_begin_) gaps_.push_back(now - first_choice_end_);
  if (!first_choice_begin_) first_choice_begin_ = now;
  first_choice_end_ = now;
  gaps_.resize(gaps_.size() + static_cast<size_t>(tokens.tokens_size() - 1), Duration::zero());
}

int32_t StreamStopwatch::tokens_of_first_choice() const {
  if (!first_choice_begin_) return 0;
  const auto counted = static_cast<int32_t>(gaps_.size()) + 1;
  return has_other_choices_ ? counted : usage_tokens_.value_or(counted);
}

StreamTiming StreamStopwatch::timing() const {
  StreamTiming timing;
  if (first_token_) timing.ttft = *first_token_ - start_;
  const int32_t tokens = tokens_of_first_choice();
  if (tokens >= 2) timing.tpot = (first_choice_end_ - *first_choice_begin_) / (tokens - 1);
  timing.end_to_end = end_ - start_;
  timing.gaps = gaps_;
  timing.completion_tokens = usage_tokens_.value_or(tokens_counted_);
  return timing;
}

}  // namespace sluice::client
