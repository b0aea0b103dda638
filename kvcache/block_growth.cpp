#include "kvcache/block_growth.h"

namespace sluice::kvcache {

// The window of a slice's first token and the slice are window - 1 + slice tokens. Of those that so many blocks hold
// wherever they begin, the first may be the last one of its block: (ring_blocks - 1) * block_size + 1.
BlockGrowth BlockGrowth::of(const engine::KvLayout& layout) {
  BlockGrowth growth{.block_size = layout.block_size,
                     .full_groups = layout.groups.full_groups,
                     .window_groups = layout.groups.window_groups,
                     .ring_blocks = layout.groups.ring_blocks};
  if (growth.window_groups == 0) return growth;
  const int64_t tokens = int64_t{growth.ring_blocks - 1} * growth.block_size + 1;
  growth.slice_max = static_cast<int32_t>(tokens - (layout.window - 1));
  return growth;
}

int64_t BlockGrowth::tokens_for(int64_t blocks) const {
  const int64_t of_full_rings = int64_t{ring_blocks} * groups();
  if (blocks < of_full_rings) return blocks / groups() * block_size;
  if (full_groups == 0) return kUnbounded;
  return (ring_blocks + (blocks - of_full_rings) / full_groups) * block_size;
}

}  // namespace sluice::kvcache
