#include "server/vllm_metrics.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "server/metric_families.h"

namespace sluice::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

using Families = std::map<std::string_view, const MetricFamily*>;

MetricLabels common_labels(const VllmLabels& labels) {
  return {{"engine", "0"}, {"model_name", labels.model_name}};
}

/// With more labels, in the order of their names.
MetricLabels with_labels(const VllmLabels& labels, MetricLabels more) {
  MetricLabels all = common_labels(labels);
  std::ranges::move(more, std::back_inserter(all));
  std::ranges::sort(all, {}, &ClientMetric::Label::name);
  return all;
}

/// A family that is one of ours under another name.
struct Renamed {
  const char* name;
  const char* own;
};

// Latencies are in seconds there too. Running requests are counted by sequence, as vLLM does for n > 1.
constexpr Renamed kRenamed[] = {
    {"vllm:num_requests_running", "sluice_requests_running"},
    {"vllm:num_requests_waiting", "sluice_requests_waiting"},
    {"vllm:num_preemptions_total", "sluice_preemptions_total"},
    {"vllm:prefix_cache_queries_total", "sluice_prefix_cache_queries_total"},
    {"vllm:prefix_cache_hits_total", "sluice_prefix_cache_hits_total"},
    {"vllm:prompt_tokens_total", "sluice_prefix_cache_queries_total"},
    {"vllm:prompt_tokens_cached_total", "sluice_prefix_cache_hits_total"},
    {"vllm:generation_tokens_total", "sluice_decode_tokens_total"},
    {"vllm:time_to_first_token_seconds", "sluice_time_to_first_token_seconds"},
    {"vllm:inter_token_latency_seconds", "sluice_inter_token_latency_seconds"},
    {"vllm:request_time_per_output_token_seconds", "sluice_time_per_output_token_seconds"},
    {"vllm:e2e_request_latency_seconds", "sluice_request_end_to_end_seconds"},
    {"vllm:request_queue_time_seconds", "sluice_request_queue_seconds"},
    {"vllm:request_prefill_time_seconds", "sluice_request_prefill_seconds"},
    {"vllm:request_decode_time_seconds", "sluice_request_generation_seconds"},
    {"vllm:request_inference_time_seconds", "sluice_request_inference_seconds"},
    {"vllm:iteration_tokens_total", "sluice_step_tokens"},
    {"vllm:request_prompt_tokens", "sluice_request_prompt_tokens"},
    {"vllm:request_prefill_kv_computed_tokens", "sluice_request_computed_prompt_tokens"},
    {"vllm:request_generation_tokens", "sluice_request_output_tokens"},
    {"vllm:request_params_max_tokens", "sluice_request_max_tokens"},
    {"vllm:request_params_n", "sluice_request_choices"},
};

MetricFamily renamed(const char* name, const MetricFamily& own, const VllmLabels& labels) {
  MetricFamily family = own;
  family.name = name;
  for (ClientMetric& metric : family.metric) metric.label = common_labels(labels);
  return family;
}

std::string_view label_of(const ClientMetric& metric, std::string_view name) {
  const auto found =
      std::ranges::find_if(metric.label, [&](const ClientMetric::Label& label) { return label.name == name; });
  return found == metric.label.end() ? std::string_view() : std::string_view(found->value);
}

/// Sums the values of `own`'s series under `to`(value of their label `from`), which is the new label's value.
std::vector<ClientMetric> regrouped(const MetricFamily& own, std::string_view from, const char* label,
                                    const std::function<const char*(std::string_view)>& to, const VllmLabels& labels) {
  std::map<std::string, double> sums;
  for (const ClientMetric& metric : own.metric) {
    if (const char* const group = to(label_of(metric, from)); group != nullptr)
      sums[group] += metric.counter.value + metric.gauge.value;  // one of the two is set
  }
  std::vector<ClientMetric> metrics;
  for (const auto& [group, sum] : sums) {
    MetricLabels all = with_labels(labels, {{label, group}});
    metrics.push_back(own.type == prometheus::MetricType::Counter ? counter_value(sum, all) : gauge_value(sum, all));
  }
  return metrics;
}

/// vLLM's `finished_reason`; requests that never began are not among its successes.
const char* finished_reason(std::string_view outcome) {
  if (outcome == "stop") return "stop";
  if (outcome == "length") return "length";
  if (outcome == "cancelled" || outcome == "deadline") return "abort";
  return outcome == "error" ? "error" : nullptr;
}

const char* waiting_reason(std::string_view reason) {
  return reason == "kv" || reason == "rows" ? "capacity" : "deferred";
}

double used_share(const MetricFamily& blocks) {
  double used = 0;
  double total = 0;
  for (const ClientMetric& metric : blocks.metric) {
    const std::string_view state = label_of(metric, "state");
    if (state == "used") used = metric.gauge.value;
    if (state == "used" || state == "free") total += metric.gauge.value;
  }
  return total > 0 ? used / total : 0;
}

MetricFamily cache_config(const VllmLabels& labels) {
  MetricLabels all = with_labels(labels, {{"block_size", std::to_string(labels.block_size)},
                                          {"num_gpu_blocks", std::to_string(labels.block_count)},
                                          {"num_cpu_blocks", "0"},
                                          {"cache_dtype", labels.cache_dtype},
                                          {"enable_prefix_caching", labels.has_prefix_cache ? "True" : "False"}});
  return gauge_family("vllm:cache_config_info", "Always 1; how the KV cache is set up is in the labels.",
                      {gauge_value(1, std::move(all))});
}

}  // namespace

std::vector<MetricFamily> vllm_metrics(const std::vector<MetricFamily>& own, const VllmLabels& labels) {
  Families families;
  for (const MetricFamily& family : own) families.emplace(family.name, &family);
  std::vector<MetricFamily> result;
  for (const Renamed& pair : kRenamed) {
    if (const auto found = families.find(pair.own); found != families.end())
      result.push_back(renamed(pair.name, *found->second, labels));
  }
  if (const auto found = families.find("sluice_requests_total"); found != families.end()) {
    result.push_back(counter_family("vllm:request_success_total",
                                    "Requests that ended; abort is for those cancelled or past their deadline.",
                                    regrouped(*found->second, "outcome", "finished_reason", finished_reason, labels)));
  }
  if (const auto found = families.find("sluice_requests_waiting_by_reason"); found != families.end()) {
    result.push_back(gauge_family("vllm:num_requests_waiting_by_reason",
                                  "Requests in the queue, for want of room or because others' turn comes first.",
                                  regrouped(*found->second, "reason", "reason", waiting_reason, labels)));
  }
  if (const auto found = families.find("sluice_kv_blocks"); found != families.end()) {
    result.push_back(gauge_family("vllm:kv_cache_usage_perc", "Share of the KV blocks in use, 0 to 1.",
                                  {gauge_value(used_share(*found->second), common_labels(labels))}));
  }
  result.push_back(cache_config(labels));
  return result;
}

}  // namespace sluice::server
