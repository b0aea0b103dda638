#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"

namespace sluice::server {

/// Quantiles of what was seen of late; none where nothing was.
struct RecentQuantiles {
  int64_t count = 0;
  std::optional<Duration> p50, p90, p99;
};

/// How long something took over the last minute. Durations are counted in buckets that grow by 4 %, so a quantile is
/// within 2 % of the one of the samples themselves, at any rate of samples and in memory that never grows. What is
/// older is forgotten two seconds' worth at a time. Below 10 µs and beyond 1000 s the outermost buckets count.
///
/// Thread-safe; the lock is held for some nanoseconds by observe() and some microseconds by quantiles().
class LatencyWindow {
 public:
  static constexpr Duration kWindow = std::chrono::seconds(60);

  /// `now` hardly goes back: a sample that comes after later ones counts with those.
  void observe(TimePoint now, Duration took);
  /// Of the samples of the last kWindow before `now`, to within two seconds.
  RecentQuantiles quantiles(TimePoint now) const;

 private:
  static constexpr Duration kSlice = std::chrono::seconds(2);
  static constexpr size_t kSlices = kWindow / kSlice + 1;  // one is only begun
  static constexpr size_t kBuckets = 472;                  // 10 µs * 1.04^471 > 1000 s
  using Counts = std::array<uint32_t, kBuckets>;

  struct Slice {
    int64_t index = -1;  // of the stretch of time, counted from the clock's zero
    Counts counts{};
  };

  static size_t bucket_of(Duration took);
  static Duration middle_of(size_t bucket);

  mutable Mutex mutex_;
  std::array<Slice, kSlices> slices_ SLUICE_GUARDED_BY(mutex_);
  int64_t newest_ SLUICE_GUARDED_BY(mutex_) = 0;
};

/// The latencies that clients feel, as Metrics counts them since start.
struct RecentLatencies {
  LatencyWindow first_token;       ///< TTFT
  LatencyWindow per_output_token;  ///< TPOT
  LatencyWindow token_gap;         ///< ITL
};

}  // namespace sluice::server
