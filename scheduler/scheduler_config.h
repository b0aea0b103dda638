#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sluice::scheduler {

/// Section `scheduler` of the configuration.
struct SchedulerConfig {
  int32_t max_running = 64;           ///< sequences in one step, 1 to 4096
  int32_t max_queued_requests = 256;  ///< requests not yet started, 0 to 1000000; more are refused at once
  int32_t tokens_per_step = 512;      ///< prefill + decode tokens in one step; max_running to 1048576
  double tpot_target_ms = 0;  ///< bound on the step; 0: none. Other values are refused until the step-time model exists
  std::string admission = "reserve";  ///< policy; only "reserve" until "plan" and "adaptive" exist

  static constexpr int32_t kMaxRunningMax = 4096;
  static constexpr int32_t kMaxQueuedRequestsMax = 1'000'000;
  static constexpr int32_t kTokensPerStepMax = 1 << 20;

  /// The error's field is the key, e.g. "scheduler.max_running".
  Status validate() const;

  /// Most tokens a step can have. Above tokens_per_step only where the floor says so: while something prefills, prompts
  /// get at least one block of tokens a step, however many rows decode.
  int32_t step_tokens_max(int32_t block_size) const;
};

}  // namespace sluice::scheduler
