#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// The banker's rule for one resource (Dijkstra, EWD 623): a state is safe if there is an order in which every sequence
/// can take all blocks up to its cap, each giving back what it owns before the next goes on. Ascending need is such an
/// order if any is. In a safe state somebody can always take his next blocks, so nobody ever has to be evicted.
class SafeState {
 public:
  /// O(n log n); reuses its memory.
  void assign(std::span<const SequenceLoad> sequences, int32_t free_blocks);

  bool is_safe() const;
  /// Whether the state, which is safe, stays so when one that needs `need` more blocks takes `count` of them. O(n).
  bool may_take(int32_t need, int32_t count) const;
  /// One that needs `need` more blocks and owns `owned` has taken `count` of them. It was one of those assigned. O(n).
  void take(int32_t need, int32_t owned, int32_t count);

 private:
  struct Entry {
    int32_t need;
    int32_t owned;
  };
  std::vector<Entry> entries_;  // by ascending need
  int64_t free_ = 0;
  int64_t need_sum_ = 0;
};

}  // namespace sluice::scheduler
