#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"

namespace sluice::scheduler {

/// Counts values by upper bound. One thread observes, any may read; no lock and no allocation after construction. A
/// reader sees each count right by itself; together they may be one value apart.
class StepHistogram {
 public:
  static constexpr size_t kBoundsMax = 24;

  /// `bounds` ascend, at most kBoundsMax of them; lent for the histogram's life.
  explicit StepHistogram(std::span<const double> bounds) : bounds_(bounds) {
    SLUICE_CHECK(bounds.size() <= kBoundsMax && std::ranges::is_sorted(bounds));
  }

  void observe(double value) {
    const auto bucket = static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
    counts_[bucket].store(counts_[bucket].load(kRelaxed) + 1, kRelaxed);
    sum_.store(sum_.load(kRelaxed) + value, kRelaxed);
  }

  std::span<const double> bounds() const { return bounds_; }
  /// Values above bound i - 1 and at most bound i; the last are above all bounds. [bounds + 1]
  std::vector<uint64_t> counts() const {
    std::vector<uint64_t> counts;
    for (size_t i = 0; i <= bounds_.size(); ++i) counts.push_back(counts_[i].load(kRelaxed));
    return counts;
  }
  double sum() const { return sum_.load(kRelaxed); }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  const std::span<const double> bounds_;
  std::array<std::atomic<uint64_t>, kBoundsMax + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace sluice::scheduler
