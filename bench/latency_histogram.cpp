#include "bench/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::bench {
namespace {

constexpr uint64_t kCells = 512;  // per power of two
constexpr int kCellBits = 9;

/// Octave 0 holds 0 … 1023 ns one by one, octave k > 0 the range 2^(k+9) … 2^(k+10) - 1 in steps of 2^k. There ns >> k
/// is 512 … 1023, so this runs on from octave to octave.
size_t cell_of(uint64_t ns) {
  const int octave = std::max(0, static_cast<int>(std::bit_width(ns)) - kCellBits - 1);
  return static_cast<size_t>(octave) * kCells + static_cast<size_t>(ns >> octave);
}

LatencyHistogram::Bucket bucket_of(size_t cell, int64_t count) {
  const size_t octave = cell < 2 * kCells ? 0 : cell / kCells - 1;
  const uint64_t begin = static_cast<uint64_t>(cell - octave * kCells) << octave;
  return {.begin = Duration(static_cast<int64_t>(begin)),
          .end = Duration(static_cast<int64_t>(begin + (uint64_t{1} << octave))),
          .count = count};
}

}  // namespace

void LatencyHistogram::add(Duration sample) {
  sample = std::max(sample, Duration::zero());
  const size_t cell = cell_of(static_cast<uint64_t>(sample.count()));
  if (cells_.size() <= cell) cells_.resize(cell + 1);
  const auto ns = static_cast<double>(sample.count());
  ++cells_[cell].count;
  cells_[cell].sum_ns += ns;
  min_ = count_ == 0 ? sample : std::min(min_, sample);
  max_ = std::max(max_, sample);
  ++count_;
  sum_ns_ += ns;
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  cells_.resize(std::max(cells_.size(), other.cells_.size()));
  for (size_t cell = 0; cell < other.cells_.size(); ++cell) {
    cells_[cell].count += other.cells_[cell].count;
    cells_[cell].sum_ns += other.cells_[cell].sum_ns;
  }
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
}

double LatencyHistogram::mean_ms() const {
  return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_) / 1e6;
}

Duration LatencyHistogram::percentile(double share) const {
  if (count_ == 0) return {};
  // A share such as 0.07 of 100 must be rank 7, though the product is a little above.
  const double exact = std::clamp(share, 0.0, 1.0) * static_cast<double>(count_);
  const auto rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(exact - 1e-9 * exact)));
  int64_t seen = 0;
  for (const Cell& cell : cells_) {
    seen += cell.count;
    if (cell.count == 0 || seen < rank) continue;
    return Duration(static_cast<int64_t>(std::llround(cell.sum_ns / static_cast<double>(cell.count))));
  }
  return max_;
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::buckets() const {
  std::vector<Bucket> buckets;
  for (size_t cell = 0; cell < cells_.size(); ++cell) {
    if (cells_[cell].count > 0) buckets.push_back(bucket_of(cell, cells_[cell].count));
  }
  return buckets;
}

}  // namespace sluice::bench
