#include "server/http_stream_call.h"

#include <optional>
#include <utility>

namespace sluice::server {

HttpStreamCall::HttpStreamCall(std::shared_ptr<HttpExchange> exchange, std::unique_ptr<AnswerFormat> format,
                               HttpAnswerTerms terms, int32_t buffer_tokens, const Clock& clock)
    : exchange_(std::move(exchange)),
      format_(std::move(format)),
      terms_(std::move(terms)),
      clock_(clock),
      buffer_(buffer_tokens) {}

Delivery HttpStreamCall::deliver(CompletionEvent event) {
  if (exchange_->is_closed()) return Delivery::kGone;
  if (const auto* denied = std::get_if<RequestDenied>(&event)) {
    exchange_->answer(terms_.refusal(denied->status));
    return Delivery::kTaken;
  }
  const bool is_accepted = std::holds_alternative<RequestOpened>(event);
  {
    const MutexLock lock(mutex_);
    if (buffer_.push(std::move(event)) == Delivery::kTooSlow) return Delivery::kTooSlow;
  }
  if (is_accepted) {
    exchange_->stream(terms_.head("text/event-stream"), shared_from_this());
  } else {
    exchange_->wake();
  }
  return Delivery::kTaken;
}

HttpBodySource::Piece HttpStreamCall::next(size_t bytes_max) {
  Piece piece;
  while (!piece.is_last && piece.bytes.size() < bytes_max) {
    std::optional<CompletionEvent> event;
    {
      const MutexLock lock(mutex_);
      if (buffer_.empty()) return piece;
      event = buffer_.pop();
    }
    piece.bytes += tell(*event);
    piece.is_last = is_last(*event);
  }
  return piece;
}

std::string HttpStreamCall::tell(const CompletionEvent& event) {
  std::string text;
  // JSON on one line has no line's end of its own, so an event is one line.
  for (const Json& chunk : format_->chunks(event, clock_.now())) text += "data: " + write_json(chunk) + "\n\n";
  const bool is_good_end = is_last(event) && std::holds_alternative<ChoiceEnd>(event);
  if (is_good_end) text += "data: [DONE]\n\n";
  return text;
}

}  // namespace sluice::server
