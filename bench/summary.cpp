#include "bench/summary.h"

#include <algorithm>
#include <numeric>

namespace sluice::bench {
namespace {

double nearest_rank(const std::vector<double>& sorted, size_t percent) {
  const size_t rank = (percent * sorted.size() + 99) / 100;
  return sorted[rank - 1];
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {.count = static_cast<int64_t>(samples.size()),
          .p50 = nearest_rank(samples, 50),
          .p90 = nearest_rank(samples, 90),
          .p99 = nearest_rank(samples, 99),
          .mean = sum / static_cast<double>(samples.size()),
          .max = samples.back()};
}

}  // namespace sluice::bench
