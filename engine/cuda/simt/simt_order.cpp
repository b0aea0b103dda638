#include "engine/cuda/simt/simt_order.h"

#include <numeric>
#include <utility>

namespace sluice::gpu::simt {

const std::vector<size_t>& OrderSource::sequence(size_t count) {
  const bool is_kept = kind_ != Order::Kind::kShuffled && sequence_.size() == count;
  if (is_kept) return sequence_;
  sequence_.resize(count);
  if (kind_ == Order::Kind::kReverse) {
    std::iota(sequence_.rbegin(), sequence_.rend(), size_t{0});
  } else {
    std::iota(sequence_.begin(), sequence_.end(), size_t{0});
  }
  if (kind_ == Order::Kind::kShuffled)
    for (size_t left = count; left > 1; --left) std::swap(sequence_[left - 1], sequence_[next() % left]);
  return sequence_;
}

}  // namespace sluice::gpu::simt
