#pragma once

#include <cstdint>

#include "kvcache/block_growth.h"

namespace sluice::scheduler {

/// Blocks that a sequence of so many tokens holds, by going through its context: the tests' own arithmetic.
inline int64_t counted_blocks(const kvcache::BlockGrowth& growth, int64_t tokens) {
  int64_t blocks = 0;
  for (int64_t number = 0; number * growth.block_size < tokens; ++number) {
    blocks += growth.full_groups;
    if (number < growth.ring_blocks) blocks += growth.window_groups;
  }
  return blocks;
}

}  // namespace sluice::scheduler
