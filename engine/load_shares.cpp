#include "engine/load_shares.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::engine {

LoadShares::LoadShares(int64_t whole_bytes, std::vector<int64_t> rank_bytes, const LoadWatch& watch)
    : whole_bytes_(whole_bytes), rank_bytes_(std::move(rank_bytes)), done_(rank_bytes_.size()), watch_(watch) {}

void LoadShares::note(int32_t rank, int64_t bytes) {
  const MutexLock lock(mutex_);
  done_[static_cast<size_t>(rank)] = bytes;
  double share = 1;
  for (size_t i = 0; i < done_.size(); ++i) {
    share = std::min(share, static_cast<double>(done_[i]) / static_cast<double>(rank_bytes_[i]));
  }
  watch_(static_cast<int64_t>(share * static_cast<double>(whole_bytes_)));
}

}  // namespace sluice::engine
