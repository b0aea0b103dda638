#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sluice::scheduler {

/// Section `scheduler` of the configuration.
struct SchedulerConfig {
  int32_t max_running = 64;           ///< sequences in one step
  int32_t max_queued_requests = 256;  ///< requests waiting beyond those running; more are refused at once
  int32_t tokens_per_step = 512;      ///< prefill + decode tokens in one step; at least max_running
  double tpot_target_ms = 0;          ///< bound on the step; 0: none. Other values are refused until the step-time model exists
  std::string admission = "reserve";  ///< policy; only "reserve" until "plan" and "adaptive" exist

  /// The error's field is the key, e.g. "scheduler.max_running".
  Status validate() const;
};

}  // namespace sluice::scheduler
