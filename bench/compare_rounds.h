#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/measurements.h"
#include "bench/statistics.h"

namespace sluice::bench {

/// A server under comparison, by the name it was given.
struct Contender {
  std::string name;
  std::string address;
};

/// "A=127.0.0.1:50051".
Result<Contender> parse_contender(const std::string& text);

/// In which order a round measures `count` contenders: each round begins with the next one, and every second one goes
/// the other way, so that for two it is ABBA. What drifts falls on all of them alike.
std::vector<size_t> round_order(size_t round, size_t count);

/// What is compared.
struct ComparedMetric {
  std::string name;
  bool is_more_better = false;
  double (*of)(const Report&);
};
std::vector<ComparedMetric> compared_metrics(bool has_slo);

/// One metric of one contender against the first's.
struct Comparison {
  std::string metric;
  bool is_more_better = false;
  std::vector<double> base;   ///< [round]
  std::vector<double> other;  ///< [round]
  RatioEstimate ratio;        ///< other / base, paired by rounds
  std::string verdict;        ///< in words; why there is none, where there is none
};

/// `reports[contender][round]`; `which` is compared with the first. There is no verdict when the interval covers 1,
/// when the client was the limit in any round, or when requests failed.
std::vector<Comparison> compare(const std::vector<Contender>& contenders,
                                const std::vector<std::vector<Report>>& reports, size_t which, bool has_slo);

}  // namespace sluice::bench
