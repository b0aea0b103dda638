#include "kvcache/block_growth.h"

namespace sluice::kvcache {

int64_t BlockGrowth::tokens_for(int64_t blocks) const {
  const int64_t of_full_rings = int64_t{ring_blocks} * groups();
  if (blocks < of_full_rings) return blocks / groups() * block_size;
  if (full_groups == 0) return kUnbounded;
  return (ring_blocks + (blocks - of_full_rings) / full_groups) * block_size;
}

}  // namespace sluice::kvcache
