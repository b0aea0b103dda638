#pragma once

#include <cstdint>
#include <vector>

#include "engine/batch.h"
#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

/// Consecutive tokens of one row that one worker attends for, per key/value head.
struct AttendTile {
  int32_t row;
  int32_t token;       ///< the first
  int32_t count;       ///< tokens
  int32_t first_span;  ///< of kKeySpan positions; the first that its first token sees
  int32_t spans;
};

/// One piece of work of a step's attention, for one key/value head.
struct AttendItem {
  static constexpr int32_t kWhole = -1;

  int32_t tile;
  int32_t span;  ///< kWhole, or which of the tile's spans is wanted as a partial result
};

/// How a step's attention is cut into work. Few long rows are cut along their contexts too, so that all threads have
/// something to do; what a token gets doesn't depend on it.
class AttentionPlan {
 public:
  /// Plans `batch` for tokens that see `window` positions, `threads` threads and `kv_heads` heads. Rows are cut only if
  /// the partial results of all their spans and heads are at most `partials_max`.
  void make(const Batch& batch, int32_t window, int32_t threads, int32_t kv_heads, int64_t partials_max);

  const std::vector<AttendTile>& tiles() const { return tiles_; }
  const std::vector<AttendItem>& items() const { return items_; }
  /// Partial results are to be merged.
  bool is_split() const { return is_split_; }
  /// The first partial result of a tile's head, when split.
  int64_t partial_index(int32_t tile, int32_t kv_head) const {
    return (spans_before_[static_cast<size_t>(tile)] * kv_heads_) +
           int64_t{kv_head} * tiles_[static_cast<size_t>(tile)].spans;
  }

 private:
  std::vector<AttendTile> tiles_;
  std::vector<AttendItem> items_;
  std::vector<int64_t> spans_before_;  // [tiles] of the tiles before
  int64_t kv_heads_ = 0;
  bool is_split_ = false;
};

}  // namespace sluice::engine::cpu
