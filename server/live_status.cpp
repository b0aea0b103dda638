#include "server/live_status.h"

#include <cmath>
#include <optional>
#include <vector>

#include "scheduler/shortage.h"

namespace sluice::server {
namespace {

using scheduler::StepEntry;

/// To three digits behind the point: more would only be bytes.
Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1000) / 1000;
}

Json milliseconds(std::optional<Duration> duration) {
  return duration ? rounded(to_milliseconds(*duration)) : Json(nullptr);
}

Json quantiles_json(const LatencyWindow& window, TimePoint now) {
  const RecentQuantiles recent = window.quantiles(now);
  return {{"count", recent.count},
          {"p50", milliseconds(recent.p50)},
          {"p90", milliseconds(recent.p90)},
          {"p99", milliseconds(recent.p99)}};
}

Json latency_json(const RecentLatencies& recent, TimePoint now) {
  return {{"window_s", to_seconds(LatencyWindow::kWindow)},
          {"ttft_ms", quantiles_json(recent.first_token, now)},
          {"tpot_ms", quantiles_json(recent.per_output_token, now)},
          {"itl_ms", quantiles_json(recent.token_gap, now)}};
}

/// As in /metrics, all of the queue stands under what the first one lacks.
Json requests_json(const scheduler::LoopStats& stats) {
  using scheduler::Shortage;
  const int32_t waiting = stats.waiting;
  const auto lacks = static_cast<Shortage>(stats.waiting_for.load());
  Json by_reason = Json::object();
  for (const Shortage reason : {Shortage::kKv, Shortage::kRows, Shortage::kTenant, Shortage::kPrefix})
    by_reason[std::string(scheduler::shortage_name(reason))] = reason == lacks ? waiting : 0;
  return {{"running", stats.running.load()},
          {"waiting", waiting},
          {"waiting_prompt_tokens", stats.waiting_prompt_tokens.load()},
          {"waiting_by_reason", std::move(by_reason)}};
}

Json limits_json(const scheduler::SchedulerConfig& limits) {
  return {{"max_running", limits.max_running},
          {"max_running_per_tenant", limits.max_running_per_tenant},
          {"max_queued_requests", limits.max_queued_requests},
          {"max_queued_tokens", limits.max_queued_tokens},
          {"max_queued_per_tenant", limits.max_queued_per_tenant},
          {"tokens_per_step", limits.tokens_per_step},
          {"tpot_target_ms", rounded(limits.tpot_target_ms)},
          {"admission", limits.admission}};
}

Json blocks_json(const scheduler::LoopStats& stats, int32_t block_size) {
  return {{"size", block_size},
          {"total", stats.blocks_total.load()},
          {"used", stats.blocks_used.load()},
          {"reserved", stats.blocks_reserved.load()},
          {"cached", stats.blocks_cached.load()},
          {"shared", stats.blocks_shared.load()}};
}

Json totals_json(const scheduler::LoopStats& stats) {
  return {{"steps", stats.steps.load()},
          {"failed_steps", stats.failures.total()},
          {"prefill_tokens", stats.prefill_tokens.load()},
          {"decode_tokens", stats.decode_tokens.load()},
          {"prompt_tokens", stats.prompt_tokens.load()},
          {"cached_tokens", stats.cached_tokens.load()},
          {"refused", stats.refused.load()},
          {"pauses", stats.pauses.load()},
          {"preemptions", stats.preemptions.load()}};
}

template <typename Value>
Json column(const std::vector<StepEntry>& entries, const Value& value_of) {
  Json values = Json::array();
  for (const StepEntry& entry : entries) values.push_back(value_of(entry));
  return values;
}

/// A step that nobody could foretell has null there.
Json steps_json(const scheduler::StepTimeline& timeline, TimePoint began, uint64_t since) {
  const std::vector<StepEntry> entries = timeline.since(since, kLiveStepsMax);
  const auto predicted = [](const StepEntry& entry) {
    return entry.predicted > Duration::zero() ? milliseconds(entry.predicted) : Json(nullptr);
  };
  return {
      {"newest", timeline.last_number()},
      {"number", column(entries, [](const StepEntry& entry) { return entry.number; })},
      {"ended_s", column(entries, [&](const StepEntry& entry) { return rounded(to_seconds(entry.ended - began)); })},
      {"took_ms", column(entries, [](const StepEntry& entry) { return milliseconds(entry.took); })},
      {"predicted_ms", column(entries, predicted)},
      {"decode_rows", column(entries, [](const StepEntry& entry) { return entry.decode_rows; })},
      {"prefill_tokens", column(entries, [](const StepEntry& entry) { return entry.prefill_tokens; })},
      {"running", column(entries, [](const StepEntry& entry) { return entry.running; })},
      {"waiting", column(entries, [](const StepEntry& entry) { return entry.waiting; })},
      {"blocks_used", column(entries, [](const StepEntry& entry) { return entry.blocks_used; })},
      {"blocks_reserved", column(entries, [](const StepEntry& entry) { return entry.blocks_reserved; })},
      {"blocks_cached", column(entries, [](const StepEntry& entry) { return entry.blocks_cached; })}};
}

}  // namespace

std::string_view state_name(Readiness readiness, HealthState health) {
  if (readiness == Readiness::kLoading) return "loading";
  if (readiness == Readiness::kDraining) return "draining";
  return health == HealthState::kHealthy ? "ready" : health_name(health);
}

Json live_status(const LiveFront& front, const LiveMoment& moment, uint64_t since) {
  const Health health = assess_health(front.stats, moment.now, front.stall_timeout);
  return {{"state", state_name(moment.readiness, health.state)},
          {"reason", health.is_healthy() ? Json(nullptr) : Json(health.reason)},
          {"model", front.model.name},
          {"device", front.model.device},
          {"version", front.model.version},
          {"uptime_s", rounded(to_seconds(moment.now - moment.began))},
          {"chat", front.has_chat_template},
          {"context_length", front.model.context_length},
          {"latency", latency_json(front.recent, moment.now)},
          {"requests", requests_json(front.stats)},
          {"limits", limits_json(front.limits.current())},
          {"blocks", blocks_json(front.stats, front.block_size)},
          {"totals", totals_json(front.stats)},
          {"steps", steps_json(front.stats.timeline, moment.began, since)}};
}

}  // namespace sluice::server
