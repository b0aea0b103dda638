#include "bench/summary.h"

namespace sluice::bench {

Summary summarize(const LatencyHistogram& histogram) {
  const auto percentile = [&histogram](double share) { return to_milliseconds(histogram.percentile(share)); };
  return {.count = histogram.count(),
          .p50 = percentile(0.50),
          .p90 = percentile(0.90),
          .p95 = percentile(0.95),
          .p99 = percentile(0.99),
          .p999 = percentile(0.999),
          .mean = histogram.mean_ms(),
          .max = to_milliseconds(histogram.max())};
}

Summary summarize(const std::vector<double>& samples_ms) {
  LatencyHistogram histogram;
  for (const double ms : samples_ms)
    histogram.add(std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms)));
  return summarize(histogram);
}

}  // namespace sluice::bench
