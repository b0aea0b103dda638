#include "server/latency_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::server {
namespace {

constexpr double kFirstSeconds = 1e-5;
constexpr double kGrowth = 1.04;

/// The value that a share of the samples doesn't exceed, by nearest rank.
template <typename Counts>
size_t bucket_at(const Counts& counts, int64_t total, double share) {
  const auto rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(share * static_cast<double>(total))));
  int64_t passed = 0;
  for (size_t bucket = 0; bucket < counts.size(); ++bucket) {
    passed += counts[bucket];
    if (passed >= rank) return bucket;
  }
  return counts.size() - 1;
}

}  // namespace

void LatencyWindow::observe(TimePoint now, Duration took) {
  const size_t bucket = bucket_of(took);
  const MutexLock lock(mutex_);
  newest_ = std::max<int64_t>(newest_, now.time_since_epoch() / kSlice);
  Slice& slice = slices_[static_cast<size_t>(newest_) % kSlices];
  if (slice.index != newest_) slice = {.index = newest_, .counts = {}};
  ++slice.counts[bucket];
}

RecentQuantiles LatencyWindow::quantiles(TimePoint now) const {
  const int64_t newest = now.time_since_epoch() / kSlice;
  std::array<uint64_t, kBuckets> sums{};
  {
    const MutexLock lock(mutex_);
    for (const Slice& slice : slices_) {
      if (slice.index < 0 || slice.index <= newest - static_cast<int64_t>(kSlices)) continue;
      for (size_t bucket = 0; bucket < kBuckets; ++bucket) sums[bucket] += slice.counts[bucket];
    }
  }
  RecentQuantiles quantiles{
      .count = std::accumulate(sums.begin(), sums.end(), int64_t{0}), .p50 = {}, .p90 = {}, .p99 = {}};
  if (quantiles.count == 0) return quantiles;
  const auto at = [&](double share) { return middle_of(bucket_at(sums, quantiles.count, share)); };
  quantiles.p50 = at(0.5);
  quantiles.p90 = at(0.9);
  quantiles.p99 = at(0.99);
  return quantiles;
}

size_t LatencyWindow::bucket_of(Duration took) {
  const double ratio = to_seconds(took) / kFirstSeconds;
  if (ratio <= 1) return 0;
  return std::min(kBuckets - 1, static_cast<size_t>(std::log(ratio) / std::log(kGrowth)));
}

/// In logarithms, so the error is the same to both sides.
Duration LatencyWindow::middle_of(size_t bucket) {
  const double seconds = kFirstSeconds * std::pow(kGrowth, static_cast<double>(bucket) + 0.5);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace sluice::server
