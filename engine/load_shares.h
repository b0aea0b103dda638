#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "engine/watched_checkpoint.h"

namespace sluice::engine {

/// How far the rank is that is furthest behind, in bytes of the whole model: parts of all ranks together are more than
/// the whole. Each rank notes from its own thread.
class LoadShares {
 public:
  /// `rank_bytes` is what each rank reads. `watch` is lent, and told at each note, by one rank at a time.
  LoadShares(int64_t whole_bytes, std::vector<int64_t> rank_bytes, const LoadWatch& watch);

  /// The rank is through with so many of its bytes.
  void note(int32_t rank, int64_t bytes);

 private:
  const int64_t whole_bytes_;
  const std::vector<int64_t> rank_bytes_;  // [ranks]
  Mutex mutex_;
  std::vector<int64_t> done_ SLUICE_GUARDED_BY(mutex_);  // [ranks]
  const LoadWatch& watch_;
};

}  // namespace sluice::engine
