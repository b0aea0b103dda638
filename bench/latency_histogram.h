#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace sluice::bench {

/// Counts durations in log-linear buckets: 512 equal ones to each power of two, and single nanoseconds below 1024, so
/// that a bucket is at most 1/512 as wide as what is in it. However many samples there are, it takes 8 KiB per power of
/// two up to the largest sample, at most half a megabyte. Two can be merged; nothing is lost by that. Not thread-safe.
class LatencyHistogram {
 public:
  struct Bucket {
    Duration begin;
    Duration end;  ///< not in it
    int64_t count;
  };

  /// A negative duration counts as zero.
  void add(Duration sample);
  void merge(const LatencyHistogram& other);

  int64_t count() const { return count_; }
  Duration min() const { return min_; }  ///< zero without samples
  Duration max() const { return max_; }
  double mean_ms() const;
  /// By nearest rank: the smallest sample that at least `share` (0 to 1) of the samples do not exceed; told as the mean
  /// of the samples in its bucket, so off by less than 1/512, and exact where equal samples alone are in it. Zero
  /// without samples.
  Duration percentile(double share) const;
  /// Those with samples, in order.
  std::vector<Bucket> buckets() const;

 private:
  struct Cell {
    int64_t count = 0;
    double sum_ns = 0;
  };
  std::vector<Cell> cells_;  // up to that of the largest sample
  int64_t count_ = 0;
  double sum_ns_ = 0;
  Duration min_{};
  Duration max_{};
};

}  // namespace sluice::bench
