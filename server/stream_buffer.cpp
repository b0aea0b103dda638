#include "server/stream_buffer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace sluice::server {

namespace {

int32_t token_count(const ChoiceText& piece) {
  return static_cast<int32_t>(piece.tokens.size());
}

}  // namespace

Delivery StreamBuffer::push(CompletionEvent event) {
  auto* piece = std::get_if<ChoiceText>(&event);
  if (piece == nullptr) {
    events_.push_back(std::move(event));
    return Delivery::kTaken;
  }
  if (tokens_ + token_count(*piece) > tokens_max_) return Delivery::kTooSlow;
  tokens_ += token_count(*piece);
  if (!merge(*piece)) events_.push_back(std::move(event));
  return Delivery::kTaken;
}

// Pieces of different choices may change places: a client tells them apart by their index. Nothing moves past an event
// of another kind.
bool StreamBuffer::merge(ChoiceText& piece) {
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    auto* waiting = std::get_if<ChoiceText>(&*event);
    if (waiting == nullptr) return false;
    if (waiting->choice != piece.choice) continue;
    if (token_count(*waiting) + token_count(piece) > kMessageTokensMax) return false;
    waiting->text += piece.text;
    std::ranges::move(piece.tokens, std::back_inserter(waiting->tokens));
    return true;
  }
  return false;
}

CompletionEvent StreamBuffer::pop() {
  SLUICE_CHECK(!events_.empty());
  CompletionEvent event = std::move(events_.front());
  events_.pop_front();
  if (const auto* piece = std::get_if<ChoiceText>(&event)) tokens_ -= token_count(*piece);
  return event;
}

}  // namespace sluice::server
