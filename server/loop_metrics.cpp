#include "server/loop_metrics.h"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/shortage.h"

namespace sluice::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

ClientMetric gauge_value(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

MetricFamily gauge(std::string name, std::string help, std::vector<ClientMetric> metrics) {
  return {std::move(name), std::move(help), prometheus::MetricType::Gauge, std::move(metrics)};
}

MetricFamily counter(std::string name, std::string help, double value) {
  ClientMetric metric;
  metric.counter.value = value;
  return {std::move(name), std::move(help), prometheus::MetricType::Counter, {std::move(metric)}};
}

MetricFamily block_gauge(int32_t total, int32_t used, int32_t reserved) {
  // The figures may be one tick apart; free is never negative for that.
  const int32_t free = std::max(0, total - used);
  return gauge(
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
  return gauge("sluice_requests_waiting_by_reason",
               "Requests in the queue, under what the next one to be served lacks.", std::move(metrics));
}

}  // namespace

std::vector<MetricFamily> loop_metrics(const scheduler::LoopStats& stats) {
  const int32_t blocks_total = stats.blocks_total;
  return {
      gauge("sluice_requests_running", "Sequences admitted and not ended.", {gauge_value(stats.running)}),
      gauge("sluice_requests_waiting", "Requests in the queue.", {gauge_value(stats.waiting)}),
      gauge("sluice_waiting_prompt_tokens", "Tokens of the prompts of requests in the queue.",
            {gauge_value(static_cast<double>(stats.waiting_prompt_tokens))}),
      waiting_gauge(stats),
      block_gauge(blocks_total, stats.blocks_used, stats.blocks_reserved),
      gauge("sluice_kv_blocks_capacity", "KV blocks in the pool; fixed at start.", {gauge_value(blocks_total)}),
      gauge("sluice_last_step_seconds", "Duration of the last step, in seconds.",
            {gauge_value(static_cast<double>(stats.last_step_ns) * 1e-9)}),
      counter("sluice_steps_total", "Forward passes.", static_cast<double>(stats.steps)),
      counter("sluice_prefill_tokens_total", "Prompt tokens computed, as steps go.",
              static_cast<double>(stats.prefill_tokens)),
      counter("sluice_decode_tokens_total", "Tokens drawn, as steps go.", static_cast<double>(stats.decode_tokens)),
      gauge("sluice_kv_blocks_cached",
            "KV blocks in no sequence's use whose content can be reused; these count as free.",
            {gauge_value(stats.blocks_cached)}),
      gauge("sluice_kv_blocks_shared", "KV blocks in several sequences' use.", {gauge_value(stats.blocks_shared)}),
      gauge("sluice_admission_margin_sigmas", "The margin z of the admission policy adaptive.",
            {gauge_value(stats.pause_margin)}),
      gauge("sluice_step_time_error_ratio", "|predicted - actual| / actual of step times, a moving average.",
            {gauge_value(stats.step_time_error)}),
      gauge("sluice_step_prefill_tokens", "Prompt tokens in the last step.", {gauge_value(stats.step_prefill_tokens)}),
      counter("sluice_decode_stall_seconds_total",
              "Seconds by which prompts made steps with decoding sequences longer, by the step-time model.",
              stats.decode_stall_seconds),
      counter("sluice_pauses_total", "Sequences left out of a step for want of KV blocks, each step counted.",
              static_cast<double>(stats.pauses)),
      counter("sluice_paused_sequences_total", "Sequences that ended and had ever been left out of a step.",
              static_cast<double>(stats.paused_sequences)),
      counter("sluice_prefix_cache_queries_total", "Prompt tokens of admitted sequences.",
              static_cast<double>(stats.prompt_tokens)),
      counter("sluice_prefix_cache_hits_total", "Of these, tokens found in the prefix cache.",
              static_cast<double>(stats.cached_tokens)),
      counter("sluice_preemptions_total", "Sequences swapped out, evicted or recomputed; stays 0.",
              static_cast<double>(stats.preemptions)),
      counter("sluice_refused_total", "Requests that the queue or the mailbox had no room for.",
              static_cast<double>(stats.refused)),
  };
}

}  // namespace sluice::server
