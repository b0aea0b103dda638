#pragma once

#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

namespace sluice::server {

// Families that are made when they are scraped, of values that live elsewhere.

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::ClientMetric gauge_value(double value, MetricLabels labels = {}) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

inline prometheus::ClientMetric counter_value(double value, MetricLabels labels = {}) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

inline prometheus::MetricFamily gauge_family(std::string name, std::string help,
                                             std::vector<prometheus::ClientMetric> metrics) {
  return {std::move(name), std::move(help), prometheus::MetricType::Gauge, std::move(metrics)};
}

inline prometheus::MetricFamily counter_family(std::string name, std::string help,
                                               std::vector<prometheus::ClientMetric> metrics) {
  return {std::move(name), std::move(help), prometheus::MetricType::Counter, std::move(metrics)};
}

}  // namespace sluice::server
