#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "scheduler/admission_policy.h"

namespace sluice::scheduler {

/// Section `scheduler` of the configuration. What it says at start is the most that limits can be raised to later, as
/// far as memory was taken for it; see check_change().
struct SchedulerConfig {
  int32_t max_running = 64;             ///< sequences in one step, 1 to 4096
  int32_t max_running_per_tenant = 0;   ///< sequences of one tenant, 0: no limit of their own
  int32_t max_queued_requests = 256;    ///< requests not yet started, 0 to 1000000; more are refused at once
  int64_t max_queued_tokens = 1 << 20;  ///< of the prompts of requests not yet started, 1 to 2^40
  int32_t max_queued_per_tenant = 0;    ///< requests of one tenant not yet started, 0: no limit of their own
  int32_t tokens_per_step = 512;        ///< prefill + decode tokens in one step; max_running to 1048576
  double tpot_target_ms = 0;            ///< bound on steps with rows that decode, 0: none; up to 60000
  std::string admission = "adaptive";   ///< "reserve", "plan" or "adaptive"; see AdmissionPolicy
  double pause_target = 0.005;          ///< share of requests that `adaptive` may ever pause, 0.0001 to 0.5

  static constexpr int32_t kMaxRunningMax = 4096;
  static constexpr int32_t kMaxQueuedRequestsMax = 1'000'000;
  static constexpr int64_t kMaxQueuedTokensMax = int64_t{1} << 40;
  static constexpr int32_t kTokensPerStepMax = 1 << 20;
  static constexpr double kTpotTargetMaxMs = 60'000;

  /// The error's field is the key, e.g. "scheduler.max_running".
  Status validate() const;
  /// Whether a running scheduler that began with these values can change to `wanted`, which must be valid itself.
  Status check_change(const SchedulerConfig& wanted) const;
  /// Of a valid configuration.
  AdmissionPolicy policy() const { return parse_policy(admission).value(); }

  /// Most tokens a step can have. Above tokens_per_step only where the floor says so: while something prefills, prompts
  /// get at least one block of tokens a step, however many rows decode.
  int32_t step_tokens_max(int32_t block_size) const;
};

}  // namespace sluice::scheduler
