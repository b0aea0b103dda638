#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// The most blocks owned at once if all sequences run to their caps together, a token a step, each giving its blocks
/// back at its end. Blocks shared now are left out. Keeps its memory between uses.
class LockstepPeak {
 public:
  /// O(n log n + n log block_size).
  int64_t of(std::span<const SequenceLoad> sequences, int32_t block_size);

 private:
  void count_remainder(int32_t remainder);
  int32_t remainders_from(int32_t remainder) const;

  std::vector<const SequenceLoad*> by_left_;
  std::vector<int32_t> tree_;  // Fenwick: how many of those added have which tokens % block_size
  int32_t counted_ = 0;
};

}  // namespace sluice::scheduler
