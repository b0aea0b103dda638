#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "server/completion_event.h"
#include "server/outcome.h"
#include "server/trace_context.h"

namespace sluice::server {

/// A request that has ended, or that the scheduler refused, as logs and traces tell it: lengths and times, no text.
/// What never came to the scheduler has none: invalid requests, and those that a key's limit or a full mailbox kept
/// out.
struct RequestRecord {
  RequestId id;
  std::string client_id;  ///< what the client calls it (x-request-id); empty: nothing
  TraceContext trace;
  Outcome outcome = Outcome::kStop;
  std::string error;  ///< why it failed or was refused; empty: it wasn't
  bool was_accepted = true;
  std::string tenant;
  bool is_chat = false;
  int32_t priority = 0;
  int32_t choice_count = 1;
  int32_t max_tokens = 0;  ///< per choice
  Usage usage;
  RequestTiming timing;                    ///< of one that was refused: arrival only
  TimePoint ended;                         ///< its last event was told
  std::optional<Duration> until_deadline;  ///< from arrival
};

/// Who is told of every request that ends. One thread, the stream pool's; must not block.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void note(const RequestRecord& record) = 0;
};

}  // namespace sluice::server
