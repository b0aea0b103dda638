#include "server/loop_metrics.h"

#include <algorithm>
#include <string>

#include "scheduler/shortage.h"
#include "server/metric_families.h"

namespace sluice::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

MetricFamily block_gauge(int32_t total, int32_t used, int32_t reserved) {
  // The figures may be one tick apart; free is never negative for that.
  const int32_t free = std::max(0, total - used);
  return gauge_family(
      "sluice_kv_blocks",
      "KV blocks: free and used add up to the capacity; reserved is what admitted sequences may still grow to, taken "
      "blocks included.",
      {gauge_value(free, {{"state", "free"}}), gauge_value(used, {{"state", "used"}}),
       gauge_value(reserved, {{"state", "reserved"}})});
}

/// All waiting requests under what the first of them lacks: that is what holds up those behind it.
MetricFamily waiting_gauge(const scheduler::LoopStats& stats) {
  using scheduler::Shortage;
  const auto lacks = static_cast<Shortage>(stats.waiting_for.load());
  std::vector<ClientMetric> metrics;
  for (const Shortage reason : {Shortage::kKv, Shortage::kRows, Shortage::kTenant, Shortage::kPrefix}) {
    const double waiting = reason == lacks ? stats.waiting.load() : 0;
    metrics.push_back(gauge_value(waiting, {{"reason", std::string(scheduler::shortage_name(reason))}}));
  }
  return gauge_family("sluice_requests_waiting_by_reason",
                      "Requests in the queue, under what the next one to be served lacks.", std::move(metrics));
}

MetricFamily limits_gauge(const scheduler::LoopStats& stats) {
  return gauge_family("sluice_limit",
                      "Limits in force, which operators may change while the daemon serves; 0 is none. Names are those "
                      "of section scheduler.",
                      {gauge_value(stats.max_running, {{"name", "max_running"}}),
                       gauge_value(stats.tokens_per_step, {{"name", "tokens_per_step"}}),
                       gauge_value(stats.tpot_target_ms, {{"name", "tpot_target_ms"}}),
                       gauge_value(stats.max_queued_requests, {{"name", "max_queued_requests"}})});
}

double tick_age_seconds(const scheduler::LoopStats& stats, TimePoint now) {
  const int64_t began = stats.tick_began_ns;
  return began == 0 ? 0 : std::max(0.0, to_seconds(now - TimePoint(Duration(began))));
}

}  // namespace

std::vector<MetricFamily> loop_metrics(const scheduler::LoopStats& stats, TimePoint now) {
  const int32_t blocks_total = stats.blocks_total;
  return {
      gauge_family("sluice_requests_running", "Sequences admitted and not ended.", {gauge_value(stats.running)}),
      gauge_family("sluice_requests_waiting", "Requests in the queue.", {gauge_value(stats.waiting)}),
      gauge_family("sluice_waiting_prompt_tokens", "Tokens of the prompts of requests in the queue.",
                   {gauge_value(static_cast<double>(stats.waiting_prompt_tokens))}),
      waiting_gauge(stats),
      block_gauge(blocks_total, stats.blocks_used, stats.blocks_reserved),
      gauge_family("sluice_kv_blocks_capacity", "KV blocks in the pool; fixed at start.", {gauge_value(blocks_total)}),
      limits_gauge(stats),
      gauge_family("sluice_tick_age_seconds",
                   "How long the serving loop's current tick has been running, in seconds; 0 while it waits for work.",
                   {gauge_value(tick_age_seconds(stats, now))}),
      gauge_family("sluice_last_step_seconds", "Duration of the last step, in seconds.",
                   {gauge_value(static_cast<double>(stats.last_step_ns) * 1e-9)}),
      counter_family("sluice_steps_total", "Forward passes.", {counter_value(static_cast<double>(stats.steps))}),
      counter_family("sluice_failed_steps_total",
                     "Forward passes that could not be launched or gave nothing; each failed every request there was.",
                     {counter_value(static_cast<double>(stats.failures.total()))}),
      gauge_family("sluice_failed_steps_in_a_row", "Failed forward passes since the last one that succeeded.",
                   {gauge_value(stats.failures.in_a_row())}),
      counter_family("sluice_prefill_tokens_total", "Prompt tokens computed, as steps go.",
                     {counter_value(static_cast<double>(stats.prefill_tokens))}),
      counter_family("sluice_decode_tokens_total", "Tokens drawn, as steps go.",
                     {counter_value(static_cast<double>(stats.decode_tokens))}),
      gauge_family("sluice_kv_blocks_cached",
                   "KV blocks in no sequence's use whose content can be reused; these count as free.",
                   {gauge_value(stats.blocks_cached)}),
      gauge_family("sluice_kv_blocks_shared", "KV blocks in several sequences' use.",
                   {gauge_value(stats.blocks_shared)}),
      gauge_family("sluice_admission_margin_sigmas", "The margin z of the admission policy adaptive.",
                   {gauge_value(stats.pause_margin)}),
      gauge_family("sluice_step_time_error_ratio", "|predicted - actual| / actual of step times, a moving average.",
                   {gauge_value(stats.step_time_error)}),
      gauge_family("sluice_last_step_prefill_tokens", "Prompt tokens in the last step.",
                   {gauge_value(stats.step_prefill_tokens)}),
      counter_family("sluice_decode_stall_seconds_total",
                     "Seconds by which prompts made steps with decoding sequences longer, by the step-time model.",
                     {counter_value(stats.decode_stall_seconds)}),
      counter_family("sluice_pauses_total", "Sequences left out of a step for want of KV blocks, each step counted.",
                     {counter_value(static_cast<double>(stats.pauses))}),
      counter_family("sluice_paused_sequences_total", "Sequences that ended and had ever been left out of a step.",
                     {counter_value(static_cast<double>(stats.paused_sequences))}),
      counter_family("sluice_prefix_cache_queries_total", "Prompt tokens of admitted sequences.",
                     {counter_value(static_cast<double>(stats.prompt_tokens))}),
      counter_family("sluice_prefix_cache_hits_total", "Of these, tokens found in the prefix cache.",
                     {counter_value(static_cast<double>(stats.cached_tokens))}),
      counter_family("sluice_preemptions_total", "Sequences swapped out, evicted or recomputed; stays 0.",
                     {counter_value(static_cast<double>(stats.preemptions))}),
      counter_family("sluice_refused_total", "Requests that the queue or the mailbox had no room for.",
                     {counter_value(static_cast<double>(stats.refused))}),
  };
}

}  // namespace sluice::server
