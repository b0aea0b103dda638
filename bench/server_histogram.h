#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::bench {

/// A server's histogram of seconds, as its /metrics tells it: how many samples were at most each bound.
class ServerHistogram {
 public:
  struct Quantile {
    double seconds = 0;       ///< as Prometheus estimates it, linear within the bucket
    double bucket_width = 0;  ///< of the bucket it lies in; infinite in the last one
  };

  /// Reads all buckets of a family from a text exposition, summed over its label sets. Empty when there are none.
  static ServerHistogram parse(std::string_view exposition, std::string_view family);

  bool is_empty() const { return at_most_.empty(); }
  int64_t count() const;
  /// What came since `before`, an earlier reading of the same histogram.
  ServerHistogram since(const ServerHistogram& before) const;
  /// Nothing without samples.
  std::optional<Quantile> quantile(double share) const;

 private:
  std::map<double, double> at_most_;  // [upper bound in seconds], cumulative
};

}  // namespace sluice::bench
