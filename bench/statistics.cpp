#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/students_t.hpp>

namespace sluice::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double quantile_of_t(double freedom, double confidence) {
  return boost::math::quantile(boost::math::students_t(freedom), 0.5 + confidence / 2);
}

}  // namespace

Estimate mean_of(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  const auto count = static_cast<double>(samples.size());
  double sum = 0;
  for (const double sample : samples) sum += sample;
  Estimate estimate{.mean = sum / count, .standard_error = 0, .freedom = count - 1};
  if (samples.size() < 2) return estimate;
  double squares = 0;
  for (const double sample : samples) squares += (sample - estimate.mean) * (sample - estimate.mean);
  estimate.standard_error = std::sqrt(squares / (count - 1) / count);
  return estimate;
}

Interval interval_of(const Estimate& estimate, double confidence) {
  if (estimate.freedom <= 0) return {-kInfinity, kInfinity};
  const double half = quantile_of_t(estimate.freedom, confidence) * estimate.standard_error;
  return {estimate.mean - half, estimate.mean + half};
}

Estimate difference(const Estimate& a, const Estimate& b) {
  const double mean = a.mean - b.mean;
  if (a.freedom <= 0 || b.freedom <= 0) return {.mean = mean};
  const double square_a = a.standard_error * a.standard_error;
  const double square_b = b.standard_error * b.standard_error;
  const double square = square_a + square_b;
  if (square <= 0) return {.mean = mean, .standard_error = 0, .freedom = std::min(a.freedom, b.freedom)};
  const double freedom = square * square / (square_a * square_a / a.freedom + square_b * square_b / b.freedom);
  return {.mean = mean, .standard_error = std::sqrt(square), .freedom = freedom};
}

bool is_surely_greater(const Estimate& a, const Estimate& b, double confidence) {
  return interval_of(difference(a, b), confidence).low > 0;
}

RatioEstimate paired_ratio(const std::vector<double>& a, const std::vector<double>& b, double confidence) {
  std::vector<double> logs;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] > 0 && b[i] > 0) logs.push_back(std::log(a[i] / b[i]));
  }
  const Estimate log_ratio = mean_of(logs);
  const Interval interval = interval_of(log_ratio, confidence);
  return {.ratio = std::exp(log_ratio.mean),
          .interval = {std::exp(interval.low), std::exp(interval.high)},
          .pairs = static_cast<int64_t>(logs.size())};
}

std::vector<double> percentiles_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  std::vector<double> percentiles;
  percentiles.reserve(101);
  for (size_t percent = 0; percent <= 100; ++percent) {
    const size_t rank = (percent * samples.size() + 99) / 100;
    percentiles.push_back(samples[rank == 0 ? 0 : rank - 1]);
  }
  return percentiles;
}

}  // namespace sluice::bench
