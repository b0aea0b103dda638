#pragma once

#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace sluice::server {

/// What vLLM's families say beside their values.
struct VllmLabels {
  std::string model_name;
  int32_t block_size = 0;   ///< tokens
  int32_t block_count = 0;  ///< of the KV pool
  std::string cache_dtype;
  bool has_prefix_cache = true;
};

/// The families of vLLM that have a meaning here, under vLLM's names and with its labels: dashboards, llm-d and the
/// Kubernetes inference gateway read these. They are copies: `own` is a whole scrape of our own families, and what has
/// no counterpart among them is left out.
std::vector<prometheus::MetricFamily> vllm_metrics(const std::vector<prometheus::MetricFamily>& own,
                                                   const VllmLabels& labels);

}  // namespace sluice::server
