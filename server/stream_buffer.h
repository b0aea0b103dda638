#pragma once

#include <cstdint>
#include <deque>

#include "server/completion_sink.h"

namespace sluice::server {

/// Events of one stream that wait for the reader. Bounded by the answer's tokens in it: prompt tokens don't count, the
/// client sent those itself. While a reader is slow, the pieces of a choice grow together, so that it catches up with
/// few messages. Not thread-safe.
class StreamBuffer {
 public:
  /// Tokens in one message; keeps the largest message, with 20 alternatives a token, far below a client's usual limit
  /// of 4 MiB.
  static constexpr int32_t kMessageTokensMax = 256;

  explicit StreamBuffer(int32_t tokens_max) : tokens_max_(tokens_max) {}

  /// kTooSlow when a ChoiceText would take it past its bound; other events are always taken.
  Delivery push(CompletionEvent event);

  bool empty() const { return events_.empty(); }
  /// The oldest event. Not empty.
  CompletionEvent pop();

 private:
  bool merge(ChoiceText& piece);

  const int32_t tokens_max_;
  int32_t tokens_ = 0;
  std::deque<CompletionEvent> events_;
};

}  // namespace sluice::server
