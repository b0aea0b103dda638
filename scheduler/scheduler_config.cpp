#include "scheduler/scheduler_config.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "engine/utf8.h"

namespace sluice::scheduler {
namespace {

template <typename Number>
std::string text_of(Number value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// Enough to know it again: a status travels in HTTP/2 headers, which are small, and a text of any length may come.
std::string quoted(std::string_view text) {
  constexpr size_t kBytesMax = 64;
  const std::string_view start = text.substr(0, kBytesMax);
  return std::string(start.substr(0, engine::complete_utf8_prefix(start)));
}

// Written so that a value that is not a number fails.
template <typename Number>
Status check_range(const char* key, Number value, Number low, Number high, const char* why = "") {
  if (value >= low && value <= high) return {};
  return invalid_field(key, "is " + text_of(value) + "; it must be " + text_of(low) + " to " + text_of(high) + why);
}

Status check_raise(const char* key, int32_t from, int32_t to) {
  if (to <= from) return {};
  return invalid_field(key,
                       "is " + text_of(to) + "; memory was taken at start for " + text_of(from) +
                           ", so it can be lowered and raised again to that; start the daemon with more to go beyond");
}

}  // namespace

Status SchedulerConfig::validate() const {
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.max_running", max_running, 1, kMaxRunningMax));
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.max_running_per_tenant", max_running_per_tenant, 0, kMaxRunningMax));
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.max_queued_requests", max_queued_requests, 0, kMaxQueuedRequestsMax));
  SLUICE_RETURN_IF_ERROR(
      check_range("scheduler.max_queued_tokens", max_queued_tokens, int64_t{1}, kMaxQueuedTokensMax));
  SLUICE_RETURN_IF_ERROR(
      check_range("scheduler.max_queued_per_tenant", max_queued_per_tenant, 0, kMaxQueuedRequestsMax));
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.tokens_per_step", tokens_per_step, max_running, kTokensPerStepMax,
                                     " (at least one token for each of scheduler.max_running)"));
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.tpot_target_ms", tpot_target_ms, 0.0, kTpotTargetMaxMs));
  SLUICE_RETURN_IF_ERROR(check_range("scheduler.pause_target", pause_target, 0.0001, 0.5));
  if (!parse_policy(admission)) {
    return invalid_field("scheduler.admission",
                         "is \"" + quoted(admission) + "\"; it must be \"adaptive\", \"plan\" or \"reserve\"");
  }
  return {};
}

Status SchedulerConfig::check_change(const SchedulerConfig& wanted) const {
  SLUICE_RETURN_IF_ERROR(wanted.validate());
  SLUICE_RETURN_IF_ERROR(check_raise("scheduler.max_running", max_running, wanted.max_running));
  return check_raise("scheduler.tokens_per_step", tokens_per_step, wanted.tokens_per_step);
}

int32_t SchedulerConfig::step_tokens_max(int32_t block_size) const {
  return std::max(tokens_per_step, max_running - 1 + block_size);
}

}  // namespace sluice::scheduler
