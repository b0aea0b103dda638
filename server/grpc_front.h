#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "scheduler/loop_stats.h"
#include "server/chat_prompter.h"
#include "server/intake.h"
#include "server/limits_desk.h"
#include "server/live_calls.h"

namespace sluice::server {

/// What the gRPC service works with once there is a model. Lent parts outlive the server.
struct GrpcFront {
  Intake& intake;
  const scheduler::LoopStats& stats;
  LiveCalls& live_calls;
  std::function<std::chrono::system_clock::time_point()> wall_clock;  ///< deadlines come as calendar times
  LimitsDesk& limits;
  ChatPrompter chat_prompter;  ///< never none
  int32_t block_size = 0;      ///< tokens
  int32_t stream_buffer_tokens = 0;
  int64_t message_bytes_max = 0;
};

}  // namespace sluice::server
