#pragma once

#include <cstdint>
#include <vector>

namespace sluice::bench {

/// What is known of a mean. `freedom` is the degrees of freedom of the standard error; with none, nothing is known.
struct Estimate {
  double mean = 0;
  double standard_error = 0;
  double freedom = 0;
};

/// Where a mean lies with some confidence. Unbounded (infinite) where too little is known.
struct Interval {
  double low = 0;
  double high = 0;
};

inline constexpr double kConfidence = 0.95;

/// Of independent samples; unknown with fewer than two.
Estimate mean_of(const std::vector<double>& samples);
/// Student's t, two-sided.
Interval interval_of(const Estimate& estimate, double confidence = kConfidence);
/// a - b, by Welch and Satterthwaite: neither the variances nor the counts need to be alike.
Estimate difference(const Estimate& a, const Estimate& b);

/// Whether `a` is greater than `b` by more than chance would explain.
bool is_surely_greater(const Estimate& a, const Estimate& b, double confidence = kConfidence);

/// The geometric mean of a[i] / b[i], with its interval: pairs were taken side by side, so what disturbs both cancels.
/// Pairs with a value that is not above 0 are left out.
struct RatioEstimate {
  double ratio = 1;
  Interval interval;
  int64_t pairs = 0;
};
RatioEstimate paired_ratio(const std::vector<double>& a, const std::vector<double>& b, double confidence = kConfidence);

/// The values at 0 %, 1 %, … 100 % of the sorted samples, by nearest rank; empty when there are none.
std::vector<double> percentiles_of(std::vector<double> samples);

}  // namespace sluice::bench
