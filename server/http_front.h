#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "server/chat_prompter.h"
#include "server/intake.h"
#include "server/live_calls.h"

namespace sluice::server {

/// What the HTTP API works with once there is a model. Lent parts outlive it.
struct HttpFront {
  Intake& intake;
  LiveCalls& live_calls;
  std::function<std::chrono::system_clock::time_point()> wall_clock;
  int32_t stream_buffer_tokens = 0;
  int64_t answer_bytes_max = 0;  ///< of an answer in one piece, as Intake counts them
  int64_t started = 0;           ///< seconds since 1970; also tells this daemon's ids from others'
  ChatPrompter chat_prompter;    ///< never none

  int64_t seconds_now() const {
    return std::chrono::duration_cast<std::chrono::seconds>(wall_clock().time_since_epoch()).count();
  }
};

}  // namespace sluice::server
