#include "server/http_whole_call.h"

#include <utility>

namespace sluice::server {
namespace {

/// What a token with log-probabilities takes in JSON, roughly: enough to tell small answers from large ones.
constexpr size_t kTokenBytes = 256;

}  // namespace

Delivery HttpWholeCall::deliver(CompletionEvent event) {
  if (exchange_->is_closed()) return Delivery::kGone;
  const bool is_end = is_last(event);
  if (const auto* piece = std::get_if<ChoiceText>(&event)) token_count_ += piece->tokens.size();
  if (const auto* echo = std::get_if<PromptEcho>(&event)) token_count_ += echo->tokens.size();
  collector_.add(std::move(event));
  if (!is_end) return Delivery::kTaken;
  workers_.post(token_count_ * kTokenBytes, [self = shared_from_this()] { self->answer(); });
  return Delivery::kTaken;
}

void HttpWholeCall::answer() {
  if (!collector_.status().ok()) return exchange_->answer(terms_.refusal(collector_.status()));
  HttpResponse response = terms_.head("application/json");
  response.body = format_->whole(collector_.completion(), clock_.now()) + '\n';
  exchange_->answer(std::move(response));
}

}  // namespace sluice::server
