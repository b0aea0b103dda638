#include "engine/cpu/attention_plan.h"

#include <algorithm>

namespace sluice::engine::cpu {

void AttentionPlan::make(const Batch& batch, int32_t window, int32_t threads, int32_t kv_heads, int64_t partials_max) {
  constexpr int32_t kItemsPerThread = 8;  // enough for claims to even out
  tiles_.clear();
  items_.clear();
  spans_before_.clear();
  kv_heads_ = kv_heads;
  int64_t spans = 0;
  for (int32_t row = 0; row < batch.row_count(); ++row) {
    const int32_t end = batch.row_begin[static_cast<size_t>(row) + 1];
    for (int32_t token = batch.row_begin[static_cast<size_t>(row)]; token < end; token += kQueryTokens) {
      const int32_t count = std::min(kQueryTokens, end - token);
      const int32_t last_position = batch.positions[static_cast<size_t>(token + count) - 1];
      const int32_t first_span = first_span_of(batch.positions[static_cast<size_t>(token)], window);
      tiles_.push_back({row, token, count, first_span, last_position / kKeySpan + 1 - first_span});
      spans_before_.push_back(spans);
      spans += tiles_.back().spans;
    }
  }
  const auto tile_count = static_cast<int32_t>(tiles_.size());
  // Only drawn tokens: prompts have many tiles, and may be computed in another way.
  is_split_ = batch.decode_rows == batch.row_count() && threads > 1 &&
              tile_count * kv_heads < threads * kItemsPerThread && spans > tile_count &&
              spans * kv_heads <= partials_max;
  for (int32_t tile = 0; tile < tile_count; ++tile) {
    const int32_t pieces = is_split_ ? tiles_[static_cast<size_t>(tile)].spans : 1;
    for (int32_t piece = 0; piece < pieces; ++piece) items_.push_back({tile, is_split_ ? piece : AttendItem::kWhole});
  }
  // A prompt's last tokens see most, and what is done last should be short. Along a context that is cut, kernels fetch
  // ahead.
  if (!is_split_) std::reverse(items_.begin(), items_.end());
}

}  // namespace sluice::engine::cpu
