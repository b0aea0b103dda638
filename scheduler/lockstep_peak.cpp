#include "scheduler/lockstep_peak.h"

#include <algorithm>

namespace sluice::scheduler {

// Blocks grow until somebody ends, so the peak lies at an end: there everyone with at least as many tokens left holds
// ceil((tokens + left) / size) blocks. With tokens = size * q + r and left = size * ql + rl that is q + ql, one more
// if r + rl > 0 and another if r + rl > size: so it takes only counts of remainders to sum over all who are alive.
int64_t LockstepPeak::of(std::span<const SequenceLoad> sequences, int32_t block_size) {
  by_left_.clear();
  for (const SequenceLoad& sequence : sequences) by_left_.push_back(&sequence);
  std::sort(by_left_.begin(), by_left_.end(),
            [](const SequenceLoad* a, const SequenceLoad* b) { return a->left > b->left; });
  tree_.assign(static_cast<size_t>(block_size), 0);
  counted_ = 0;
  int64_t whole = 0;  // the sum of q, less what is shared
  int64_t peak = 0;
  for (size_t i = 0; i < by_left_.size(); ++i) {
    const SequenceLoad& sequence = *by_left_[i];
    whole += sequence.tokens / block_size - sequence.shared();
    count_remainder(sequence.tokens % block_size);
    const bool is_tied = i + 1 < by_left_.size() && by_left_[i + 1]->left == sequence.left;
    if (is_tied) continue;
    const int32_t rest = sequence.left % block_size;
    const int64_t first = rest > 0 ? counted_ : remainders_from(1);
    const int64_t second = remainders_from(block_size - rest + 1);
    peak = std::max(peak, whole + int64_t{counted_} * (sequence.left / block_size) + first + second);
  }
  return peak;
}

void LockstepPeak::count_remainder(int32_t remainder) {
  ++counted_;
  for (size_t i = static_cast<size_t>(remainder) + 1; i <= tree_.size(); i += i & (~i + 1)) ++tree_[i - 1];
}

int32_t LockstepPeak::remainders_from(int32_t remainder) const {
  if (remainder >= static_cast<int32_t>(tree_.size())) return 0;
  int32_t below = 0;
  for (auto i = static_cast<size_t>(remainder); i > 0; i -= i & (~i + 1)) below += tree_[i - 1];
  return counted_ - below;
}

}  // namespace sluice::scheduler
