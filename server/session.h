#pragma once

#include "base/status.h"
#include "scheduler/token_event.h"

namespace sluice::server {

/// Who the loop's events of one request go to. One thread, the stream pool's.
class Session {
 public:
  virtual ~Session() = default;

  /// Takes the loop's next event of this request.
  virtual void take(scheduler::TokenEvent event) = 0;
  /// Ends a request whose loop has gone.
  virtual void abandon(const Status& status) = 0;
  /// True once the loop has nothing more to say about this request; the session can go.
  virtual bool done() const = 0;
};

}  // namespace sluice::server
