#pragma once

#include <cstdint>
#include <vector>

namespace sluice::bench {

/// What a list of numbers looks like. Percentiles by nearest rank, over the exact samples: p is the smallest sample
/// that at least p % of the samples do not exceed, so of 1 … 100 p50 is 50 and p99 is 99. All are 0 when there are no
/// samples.
struct Summary {
  int64_t count = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double mean = 0;
  double max = 0;
};

Summary summarize(std::vector<double> samples);

}  // namespace sluice::bench
