#include "server/step_metrics.h"

#include <limits>
#include <string>
#include <utility>

#include "server/metric_families.h"

namespace sluice::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using scheduler::StepHistogram;

ClientMetric histogram_value(const StepHistogram& histogram, MetricLabels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  uint64_t below = 0;
  const std::vector<uint64_t> counts = histogram.counts();
  for (size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    const bool is_last = i == histogram.bounds().size();
    metric.histogram.bucket.push_back(
        {below, is_last ? std::numeric_limits<double>::infinity() : histogram.bounds()[i]});
  }
  metric.histogram.sample_count = below;
  metric.histogram.sample_sum = histogram.sum();
  return metric;
}

MetricFamily histogram_family(std::string name, std::string help, std::vector<ClientMetric> metrics) {
  return {std::move(name), std::move(help), prometheus::MetricType::Histogram, std::move(metrics)};
}

/// 0 where the limit isn't known.
double share(double used, double limit) {
  return limit > 0 ? used / limit : 0;
}

}  // namespace

std::vector<MetricFamily> step_metrics(const scheduler::StepStats& stats, const engine::MachineLimits& limits) {
  return {
      histogram_family("sluice_step_decode_rows", "Rows of a step that decode: the batch, in sequences.",
                       {histogram_value(stats.decode_rows)}),
      histogram_family("sluice_step_prefill_tokens", "Prompt tokens of a step that computed any.",
                       {histogram_value(stats.prefill_tokens)}),
      histogram_family("sluice_step_tokens", "Tokens of a step, of prompts and of rows that decode.",
                       {histogram_value(stats.tokens)}),
      histogram_family("sluice_step_seconds",
                       "Duration of a step, in seconds; kind is decode, prefill, or mixed for both at once.",
                       {histogram_value(stats.decode_seconds, {{"kind", "decode"}}),
                        histogram_value(stats.prefill_seconds, {{"kind", "prefill"}}),
                        histogram_value(stats.mixed_seconds, {{"kind", "mixed"}})}),
      histogram_family("sluice_step_predicted_ratio", "Predicted / actual seconds of a step, where it was predicted.",
                       {histogram_value(stats.predicted_ratio)}),
      counter_family("sluice_model_read_bytes_total",
                     "Bytes that steps could not do without: weights once, and the contexts of rows that decode.",
                     {counter_value(stats.bytes)}),
      counter_family("sluice_model_macs_total", "Multiply-accumulates that steps could not do without.",
                     {counter_value(stats.macs)}),
      gauge_family("sluice_machine_read_bytes_per_second", "What reading the weights gave, measured at start.",
                   {gauge_value(limits.read_bytes_per_second)}),
      gauge_family("sluice_machine_macs_per_second",
                   "Multiply-accumulates that the kernels' instructions gave, measured at start; 0: not known.",
                   {gauge_value(limits.macs_per_second())}),
      gauge_family("sluice_last_step_bandwidth_utilization_ratio",
                   "MBU: bytes read per second of the last step, as a share of what the machine gave at start.",
                   {gauge_value(share(stats.last_bytes_per_second, limits.read_bytes_per_second))}),
      gauge_family("sluice_last_step_arithmetic_utilization_ratio",
                   "MFU: multiply-accumulates per second of the last step, as a share of what the machine gave at "
                   "start.",
                   {gauge_value(share(stats.last_macs_per_second, limits.macs_per_second()))}),
  };
}

}  // namespace sluice::server
