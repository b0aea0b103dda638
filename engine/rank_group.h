#pragma once

#include <cstdint>

namespace sluice::engine {

/// The ranks that compute a model together, for whoever runs them. Thread-safe.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  virtual int32_t rank_count() const = 0;
  /// This rank doesn't come any more: sums that wait for it end, and so do all later ones, on every rank. What they
  /// gave means nothing. Doesn't wait.
  virtual void leave(int32_t rank) = 0;
};

}  // namespace sluice::engine
