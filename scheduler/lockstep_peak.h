#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_growth.h"
#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// How many blocks of their contexts a growing set of sequences have, all of them so many tokens later.
class BlockSum {
 public:
  /// Of nobody.
  void clear(int32_t block_size);
  /// O(log block_size).
  void add(int32_t tokens);
  int64_t after(int32_t tokens) const;
  int64_t count() const { return counted_; }

 private:
  int32_t remainders_from(int32_t remainder) const;

  std::vector<int32_t> tree_;  // [block_size] Fenwick: how many of those added have which tokens % block_size
  int64_t whole_ = 0;          // the sum of tokens / block_size
  int32_t counted_ = 0;
};

/// The most blocks owned at once if all sequences run to their caps together, a token a step, each giving its blocks
/// back at its end. Blocks shared now are left out. Keeps its memory between uses.
class LockstepPeak {
 public:
  /// O(n log n + n log block_size).
  int64_t of(std::span<const SequenceLoad> sequences, const kvcache::BlockGrowth& growth);

 private:
  /// One whose rings grow until so many tokens from now, or until its end.
  struct Ring {
    int32_t until = 0;
    int32_t tokens = 0;
  };
  void sort(std::span<const SequenceLoad> sequences, const kvcache::BlockGrowth& growth);
  /// What those who are alive have in the rings of one group at an end that is `left` tokens from now. Called for ends
  /// from the last to the first.
  int64_t blocks_in_rings(int32_t left, const kvcache::BlockGrowth& growth);

  std::vector<const SequenceLoad*> by_left_;  // descending, as is the next
  std::vector<Ring> by_until_;                // those whose rings grow yet
  BlockSum alive_;
  BlockSum growing_;  // those alive whose rings grow yet
};

}  // namespace sluice::scheduler
