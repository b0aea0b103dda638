#include "kvcache/block_growth.h"

namespace sluice::kvcache {

BlockGrowth BlockGrowth::of(const engine::KvLayout& layout) {
  const engine::LayerGroups& groups = layout.groups;
  return {.block_size = layout.block_size,
          .full_groups = groups.full_groups,
          .window_groups = groups.window_groups,
          .ring_blocks = groups.ring_blocks,
          .window = groups.window_groups > 0 ? layout.window : 0};
}

bool BlockGrowth::is_valid() const {
  const bool has_groups = full_groups >= 0 && window_groups >= 0 && groups() >= 1;
  const bool has_rings = window_groups > 0 ? ring_blocks >= 1 && window >= 1 : ring_blocks == 0 && window == 0;
  return block_size >= 1 && has_groups && has_rings && slice_max() >= 1;
}

// The window of a slice's first token and the slice are window - 1 + slice tokens. Of those that so many blocks hold
// wherever they begin, the first may be the last one of its block: (ring_blocks - 1) * block_size + 1.
int32_t BlockGrowth::slice_max() const {
  if (window_groups == 0) return std::numeric_limits<int32_t>::max();
  const int64_t tokens = int64_t{ring_blocks - 1} * block_size + 1;
  return static_cast<int32_t>(tokens - (window - 1));
}

int64_t BlockGrowth::tokens_for(int64_t blocks) const {
  const int64_t of_full_rings = int64_t{ring_blocks} * groups();
  if (blocks < of_full_rings) return blocks / groups() * block_size;
  if (full_groups == 0) return kUnbounded;
  return (ring_blocks + (blocks - of_full_rings) / full_groups) * block_size;
}

}  // namespace sluice::kvcache
