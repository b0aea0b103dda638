#pragma once

#include <cstdint>
#include <span>

#include "kvcache/block_growth.h"
#include "scheduler/length_book.h"
#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// Foretells how many blocks a set of sequences will own, if all go on together and end as their lengths' survival
/// functions say. Lends the book.
class BlockForecast {
 public:
  BlockForecast(const LengthBook& lengths, const kvcache::BlockGrowth& growth) : lengths_(&lengths), growth_(growth) {}

  /// Effective bandwidth: at each point of a coarse grid over the future, mean + z * sigma of the blocks owned stays
  /// within `capacity`. Sequences are sized as at the end of a grid interval, or peaks between two points are missed.
  bool fits(std::span<const SequenceLoad> sequences, double z, int64_t capacity) const;

 private:
  struct Moments {
    double mean = 0;
    double variance = 0;
  };
  Moments owned_after(std::span<const SequenceLoad> sequences, int32_t tokens, int32_t ahead) const;

  const LengthBook* lengths_;
  kvcache::BlockGrowth growth_;
};

}  // namespace sluice::scheduler
