#pragma once

#include "server/completion_event.h"

namespace sluice::server {

enum class Delivery {
  kTaken,
  kTooSlow,  ///< the reader is behind by more than its buffer holds; this event was dropped, the request should end
             ///< with an error
  kGone,     ///< nobody listens any more; further events are of no use
};

/// The connection's side of a request, one implementation per wire format. Called on the stream pool's thread only, in
/// order.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// Never blocks. The last event is always taken, however slow the reader.
  virtual Delivery deliver(CompletionEvent event) = 0;
};

}  // namespace sluice::server
