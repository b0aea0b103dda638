#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/quant_block.h"
#include "engine/cpu/tile.h"

// Products of quantised weights with 8-bit activations, for vectors V with dot_4 (vpdpbusd): 16 lanes, one weight row
// each.

namespace sluice::engine::cpu {

/// Two chains, as each product takes the previous sum; integers, so their order doesn't matter.
template <typename V>
[[gnu::always_inline]] inline void dot_block(const typename V::Bytes (&weights)[8], const int8_t* x, int32_t offset,
                                             typename V::Int (&dots)[1]) {
  auto even = V::set_int(offset);
  auto odd = V::set_int(0);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    even = V::dot_4(even, weights[i], V::repeat_4(x + 4 * i));
    odd = V::dot_4(odd, weights[i + 1], V::repeat_4(x + 4 * i + 4));
  }
  dots[0] = V::add_int(even, odd);
}

/// Of either half of the block.
template <typename V>
[[gnu::always_inline]] inline void dot_block(const typename V::Bytes (&weights)[8], const int8_t* x, int32_t /*offset*/,
                                             typename V::Int (&dots)[2]) {
  dots[0] = V::set_int(0);
  dots[1] = V::set_int(0);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    dots[0] = V::dot_4(dots[0], weights[i], V::repeat_4(x + 4 * i));
    dots[1] = V::dot_4(dots[1], weights[i + 4], V::repeat_4(x + 4 * i + 16));
  }
}

template <typename V, typename Blocks, int kTile>
void dot_bytes_tile(const std::byte* panel, const Columns& columns, int32_t begin, float* out) {
  const int32_t blocks = columns.length / kQuantBlock;
  typename V::Float totals[kTile];
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) totals[c] = V::set(0);
  for (int32_t b = 0; b < blocks; ++b) {
    Blocks::prefetch(panel + kPrefetchBytes, b);
    typename Blocks::Weights weights;
    Blocks::load_weights(panel, b, 0, weights);
    BlockScales<V, Blocks> block;
    block.load(panel, b, 0);
    // A tile's columns begin at a multiple of 8, so they lie side by side.
    const int64_t first = column_place(begin, b, blocks);
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) {
      const int64_t place = first + c;
      typename V::Int dots[Blocks::kScales];
      dot_block<V>(weights, columns.values + place * kQuantBlock, Blocks::offset(columns, place), dots);
      totals[c] = add_block<V, Blocks>(totals[c], dots, block, columns, place);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) V::store(out + int64_t{begin + c} * kPanelRows, totals[c]);
}

template <typename V, TensorType kType>
void dot_bytes(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  static_assert(V::kLanes == kPanelRows);
  for_each_tile<V::kColumns>(count, [&](auto tile, int32_t begin) {
    dot_bytes_tile<V, PackedBlocks<V, kType>, decltype(tile)::kSize>(panel, columns, begin, out);
  });
}

}  // namespace sluice::engine::cpu
