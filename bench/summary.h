#pragma once

#include <cstdint>
#include <vector>

#include "bench/latency_histogram.h"

namespace sluice::bench {

/// What many durations look like, in milliseconds. Percentiles by nearest rank: p is the smallest sample that at least
/// p % of the samples do not exceed, so of 1 … 100 p50 is 50 and p99 is 99. Of a histogram they are within 1/512 of
/// that; count, mean and max are exact. All are 0 when there are no samples.
struct Summary {
  int64_t count = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double p999 = 0;
  double mean = 0;
  double max = 0;
};

Summary summarize(const LatencyHistogram& histogram);
/// Of samples in milliseconds.
Summary summarize(const std::vector<double>& samples_ms);

}  // namespace sluice::bench
