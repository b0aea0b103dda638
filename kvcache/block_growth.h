#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/kv_layout.h"

namespace sluice::kvcache {

/// How a sequence's block table grows with its tokens.
///
/// A block holds what one group of layers (engine::LayerGroups) keeps of block_size tokens. Full groups see the whole
/// context and have a block for every block_size tokens of it. Window groups see its end alone and have a ring of at
/// most ring_blocks: block number b of the context lies in place b % ring_blocks, over what no token can see any more.
/// So a table never shrinks before its end, and it grows by whole blocks of the context, a block of each group that
/// still grows.
///
/// In a table, blocks stand in the order in which they are taken: by number in the context, then by group.
struct BlockGrowth {
  int32_t block_size = 1;     ///< tokens
  int32_t full_groups = 1;    ///< groups 0 .. full_groups - 1; 0 only with window groups
  int32_t window_groups = 0;  ///< the groups after them
  int32_t ring_blocks = 0;    ///< of a window group; 0 exactly without such groups
  int32_t window = 0;         ///< tokens that layers of window groups see; 0 exactly without such groups

  /// What tokens_for() says when no number of tokens takes so many blocks.
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  static BlockGrowth of(const engine::KvLayout& layout);

  bool is_valid() const;
  int32_t groups() const { return full_groups + window_groups; }
  /// A table has just the blocks of the context, one after the other.
  bool is_plain() const { return full_groups == 1 && window_groups == 0; }

  /// Tokens of a sequence in one step, at most: all are stored before the first of them looks back, so a longer slice
  /// would overwrite what it sees. No less than what the layout's rings were made for.
  int32_t slice_max() const;
  /// Keys that the last one of so many tokens looks at, as a mean over the layers, rounded up.
  int64_t keys_seen(int64_t tokens) const {
    return (full_groups * tokens + window_groups * std::min<int64_t>(tokens, window) + groups() - 1) / groups();
  }

  /// Blocks of the context, each of which is one or more blocks of the pool.
  int64_t context_blocks(int64_t tokens) const { return (tokens + block_size - 1) / block_size; }
  /// Blocks of a table that holds so many tokens.
  int64_t blocks_for(int64_t tokens) const {
    const int64_t blocks = context_blocks(tokens);
    return full_groups * blocks + window_groups * std::min<int64_t>(blocks, ring_blocks);
  }
  /// The most tokens that a table of so many blocks holds; kUnbounded when all its rings are full and nothing else
  /// grows.
  int64_t tokens_for(int64_t blocks) const;

  /// Whether a sequence of so many tokens writes over blocks of its own. What others share must never be.
  bool wraps(int64_t tokens) const { return window_groups > 0 && context_blocks(tokens) > ring_blocks; }
  /// Where in a table the block of a group stands that holds block number `number` of the context.
  int64_t place_of(int64_t number, int32_t group) const {
    if (group >= full_groups) return number % ring_blocks * groups() + group;
    const int64_t in_rings = std::min<int64_t>(number, ring_blocks);
    return in_rings * groups() + (number - in_rings) * full_groups + group;
  }
};

}  // namespace sluice::kvcache
