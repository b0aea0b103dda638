#include "server/loop_metrics.h"

#include <algorithm>
#include <string>
#include <utility>

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

MetricFamily counter(std::string name, std::string help, uint64_t value) {
  ClientMetric metric;
  metric.counter.value = static_cast<double>(value);
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

}  // namespace

std::vector<MetricFamily> loop_metrics(const scheduler::LoopStats& stats) {
  const int32_t blocks_total = stats.blocks_total;
  return {
      gauge("sluice_requests_running", "Sequences admitted and not ended.", {gauge_value(stats.running)}),
      gauge("sluice_requests_waiting", "Requests in the queue.", {gauge_value(stats.waiting)}),
      block_gauge(blocks_total, stats.blocks_used, stats.blocks_reserved),
      gauge("sluice_kv_blocks_capacity", "KV blocks in the pool; fixed at start.", {gauge_value(blocks_total)}),
      gauge("sluice_last_step_seconds", "Duration of the last step, in seconds.",
            {gauge_value(static_cast<double>(stats.last_step_ns) * 1e-9)}),
      counter("sluice_steps_total", "Forward passes.", stats.steps),
      counter("sluice_prefill_tokens_total", "Prompt tokens computed, as steps go.", stats.prefill_tokens),
      counter("sluice_decode_tokens_total", "Tokens drawn, as steps go.", stats.decode_tokens),
      counter("sluice_preemptions_total", "Sequences swapped out, evicted or recomputed; stays 0.", stats.preemptions),
      counter("sluice_refused_total", "Requests that the queue or the mailbox had no room for.", stats.refused),
  };
}

}  // namespace sluice::server
