#include "scheduler/scheduler_config.h"

#include <algorithm>

namespace sluice::scheduler {
namespace {

Status check_range(const char* key, int32_t value, int32_t low, int32_t high, const char* why) {
  if (value >= low && value <= high) return {};
  return invalid_field(
      key, "is " + std::to_string(value) + "; it must be " + std::to_string(low) + " to " + std::to_string(high) + why);
}

}  // namespace

Status SchedulerConfig::validate() const {
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.max_running", max_running, 1, kMaxRunningMax, ""));
  SLUICE_RETURN_IF_ERROR(
      check_range("scheduler.max_queued_requests", max_queued_requests, 0, kMaxQueuedRequestsMax, ""));
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.tokens_per_step", tokens_per_step, max_running, kTokensPerStepMax,
                                     " (at least one token for each of scheduler.max_running)"));
  if (tpot_target_ms != 0)
    return invalid_field("scheduler.tpot_target_ms", "must be 0: this build has no step-time model");
  if (admission != "reserve") {
    return invalid_field("scheduler.admission",
                         "is \"" + admission + "\"; the only policy of this build is \"reserve\"");
  }
  return {};
}

int32_t SchedulerConfig::step_tokens_max(int32_t block_size) const {
  return std::max(tokens_per_step, max_running - 1 + block_size);
}

}  // namespace sluice::scheduler
