#include "scheduler/lockstep_peak.h"

#include <algorithm>
#include <iterator>

namespace sluice::scheduler {

void BlockSum::clear(int32_t block_size) {
  tree_.assign(static_cast<size_t>(block_size), 0);
  whole_ = 0;
  counted_ = 0;
}

void BlockSum::add(int32_t tokens) {
  const auto block_size = static_cast<int32_t>(tree_.size());
  whole_ += tokens / block_size;
  ++counted_;
  for (auto i = static_cast<size_t>(tokens % block_size) + 1; i <= tree_.size(); i += i & (~i + 1)) ++tree_[i - 1];
}

// With tokens = size * q + r for one of them and size * qa + ra for those to come, it has q + qa blocks then, one more
// if r + ra > 0 and another if r + ra > size: so it takes only counts of remainders to sum over all.
int64_t BlockSum::after(int32_t tokens) const {
  const auto block_size = static_cast<int32_t>(tree_.size());
  const int32_t rest = tokens % block_size;
  const int64_t first = rest > 0 ? counted_ : remainders_from(1);
  const int64_t second = remainders_from(block_size - rest + 1);
  return whole_ + int64_t{counted_} * (tokens / block_size) + first + second;
}

int32_t BlockSum::remainders_from(int32_t remainder) const {
  if (remainder >= static_cast<int32_t>(tree_.size())) return 0;
  int32_t below = 0;
  for (auto i = static_cast<size_t>(remainder); i > 0; i -= i & (~i + 1)) below += tree_[i - 1];
  return counted_ - below;
}

// Blocks grow until somebody ends, so the peak lies at an end: there everyone with at least as many tokens left is
// alive.
int64_t LockstepPeak::of(std::span<const SequenceLoad> sequences, const kvcache::BlockGrowth& growth) {
  sort(sequences, growth);
  alive_.clear(growth.block_size);
  growing_.clear(growth.block_size);
  int64_t shared = 0;
  int64_t peak = 0;
  for (size_t i = 0; i < by_left_.size(); ++i) {
    const SequenceLoad& sequence = *by_left_[i];
    shared += sequence.shared();
    alive_.add(sequence.tokens);
    const bool is_tied = i + 1 < by_left_.size() && by_left_[i + 1]->left == sequence.left;
    if (is_tied) continue;
    int64_t blocks = growth.full_groups * alive_.after(sequence.left);
    if (growth.window_groups > 0) blocks += growth.window_groups * blocks_in_rings(sequence.left, growth);
    peak = std::max(peak, blocks - shared);
  }
  return peak;
}

// Looking at ever earlier ends, more are alive, and of more the rings grow yet.
int64_t LockstepPeak::blocks_in_rings(int32_t left, const kvcache::BlockGrowth& growth) {
  for (; growing_.count() < std::ssize(by_until_);) {
    const Ring& ring = by_until_[static_cast<size_t>(growing_.count())];
    if (ring.until < left) break;
    growing_.add(ring.tokens);
  }
  return growing_.after(left) + (alive_.count() - growing_.count()) * growth.ring_blocks;
}

void LockstepPeak::sort(std::span<const SequenceLoad> sequences, const kvcache::BlockGrowth& growth) {
  by_left_.clear();
  for (const SequenceLoad& sequence : sequences) by_left_.push_back(&sequence);
  std::sort(by_left_.begin(), by_left_.end(),
            [](const SequenceLoad* a, const SequenceLoad* b) { return a->left > b->left; });
  by_until_.clear();
  if (growth.window_groups == 0) return;
  const int64_t ring_tokens = int64_t{growth.ring_blocks} * growth.block_size;
  for (const SequenceLoad& sequence : sequences) {
    const auto until = static_cast<int32_t>(std::min<int64_t>(sequence.left, ring_tokens - sequence.tokens));
    if (until >= 0) by_until_.push_back({until, sequence.tokens});
  }
  std::sort(by_until_.begin(), by_until_.end(), [](const Ring& a, const Ring& b) { return a.until > b.until; });
}

}  // namespace sluice::scheduler
