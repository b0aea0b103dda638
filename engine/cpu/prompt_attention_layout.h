#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

/// How the scratch memory of an AttendTask is shared out.
struct PromptAttentionLayout {
  [[gnu::always_inline]] PromptAttentionLayout(int32_t queries, int32_t head_dim)
      : query_tiles((queries + 15) / 16),
        head_blocks(head_dim / kQuantBlock),
        floats_end(int64_t{kKeySpan} * (head_dim + padded_head_dim(head_dim) + 2)),
        queries_begin(aligned(floats_end)),
        keys_begin(aligned(queries_begin + query_tiles * 16 * head_dim / 2)),
        values_begin(aligned(keys_begin + kKeySpan * head_dim / 2)),
        weights_begin(aligned(values_begin + kKeySpan * head_dim / 2)),
        scores_begin(aligned(weights_begin + 32 * kKeySpan / 2)),
        scales_begin(scores_begin + 32 * kKeySpan),
        sums_begin(scales_begin + 2 * kKeySpan),
        state_begin(sums_begin + 32 * head_dim),
        partial_begin(state_begin + attend_partial_floats(queries, head_dim)),
        floats(partial_begin + attend_partial_floats(queries, head_dim)) {}

  /// Whole cache lines of floats; where a float of scratch begins a line is up to scratch itself.
  [[gnu::always_inline]] static int64_t aligned(int64_t place) { return (place + 15) / 16 * 16; }

  int64_t query_tiles;
  int64_t head_blocks;  ///< of 32 elements
  int64_t floats_end;
  int64_t queries_begin;  ///< bfloat16 [query tiles][head blocks][16][32]
  int64_t keys_begin;     ///< bfloat16 [span / 16][head blocks][16 pairs][16 keys][2]
  int64_t values_begin;   ///< bfloat16 [head_dim / 16][span / 32][16 pairs][16 elements][2]
  int64_t weights_begin;  ///< bfloat16 [2 query tiles][span / 32][16][32]
  int64_t scores_begin;   ///< [span / 16][2 query tiles][16 queries][16 keys]
  int64_t scales_begin;   ///< [span] of keys, [span] of values
  int64_t sums_begin;     ///< [head_dim / 16][2 query tiles][16 queries][16 elements]
  int64_t state_begin;
  int64_t partial_begin;
  int64_t floats;  ///< of all
};

}  // namespace sluice::engine::cpu
