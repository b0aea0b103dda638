#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_growth.h"
#include "scheduler/length_book.h"
#include "scheduler/lockstep_peak.h"
#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// Who goes slowly when more was admitted than the cache will carry: answers have turned out longer than foretold.
///
/// The safe state alone would let everybody run until hardly a block is free, and then stop all but one for seconds. So
/// when blocks get scarce and the lengths that were foretold are not to be trusted (OutputLengths), those that need the
/// fewest blocks go on at full speed, as many as can run to their caps with the blocks there are, and the others draw a
/// token every kIntervalMs: a block then lasts them several seconds, and no stream falls silent. Once throttled, they
/// stay so until even their caps fit together. Either sign alone comes by chance: a full cache is what admission aims
/// at, and in some thousand answers a few dozen in a row are long.
class RowThrottle {
 public:
  static constexpr int32_t kIntervalMs = 250;

  struct Blocks {
    int64_t capacity;  ///< less those shared
    int32_t free;
    kvcache::BlockGrowth growth;
  };

  /// Decides anew for the sequences, in their order.
  void update(std::span<const SequenceLoad> sequences, const LengthBook& lengths, const Blocks& blocks);
  void clear() { slow_.clear(); }
  /// Of the sequence with this index in the last update(), or one that came after it: false.
  bool is_slow(size_t index) const { return index < slow_.size() && slow_[index]; }
  bool is_active() const { return !slow_.empty(); }

 private:
  void choose(std::span<const SequenceLoad> sequences, const Blocks& blocks);

  LockstepPeak peak_;
  std::vector<bool> slow_;      // empty: nobody
  std::vector<int32_t> order_;  // indices by ascending need
};

}  // namespace sluice::scheduler
