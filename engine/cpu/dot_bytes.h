#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/quant_block.h"
#include "engine/cpu/tile.h"

// Products of quantised weights with 8-bit activations, for vectors V with dot_4 (vpdpbusd): 16 lanes, one weight row
// each.

namespace sluice::engine::cpu {

/// A packed block's weights as unsigned bytes: register i holds elements 4i to 4i + 3 of each row.
template <typename V>
using BlockBytes = typename V::Bytes[8];

template <typename V>
struct Q4_0Bytes {
  static constexpr int64_t kBytes = kQ4_0BlockBytes;
  static constexpr bool kHasMinimum = true;
  static constexpr bool kHasOffset = false;

  static void load_weights(const std::byte* block, BlockBytes<V>& weights) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto both = V::load_bytes(block + 64 * i);
      weights[2 * i] = V::low_nibbles(both);
      weights[2 * i + 1] = V::high_nibbles(both);
    }
  }
  static typename V::Float scale(const std::byte* block) {
    return load_scales<V>(block + 256);
  }
  static typename V::Float minimum(const std::byte* block) {
    return V::mul(scale(block), V::set(-8.0F));
  }
};

template <typename V>
struct Q4_1Bytes : Q4_0Bytes<V> {
  static constexpr int64_t kBytes = kQ4_1BlockBytes;
  static typename V::Float minimum(const std::byte* block) { return load_scales<V>(block + 288); }
};

template <typename V>
struct Q8_0Bytes {
  static constexpr int64_t kBytes = kQ8_0BlockBytes;
  static constexpr bool kHasMinimum = false;
  static constexpr bool kHasOffset = true;  // weights are stored plus 128: take 128 * sum(x) off again

  static void load_weights(const std::byte* block, BlockBytes<V>& weights) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) weights[i] = V::load_bytes(block + 64 * i);
  }
  static typename V::Float scale(const std::byte* block) {
    return load_scales<V>(block + 512);
  }
  static typename V::Float minimum(const std::byte* /*block*/) {
    return V::set(0);
  }
};

template <typename V>
struct Q5_1Bytes : Q8_0Bytes<V> {
  static constexpr int64_t kBytes = kQ5_1BlockBytes;
  static constexpr bool kHasMinimum = true;
  static constexpr bool kHasOffset = false;
  static typename V::Float minimum(const std::byte* block) { return load_scales<V>(block + 544); }
};

/// Two chains, as each product takes the previous sum; integers, so their order doesn't matter.
template <typename V>
typename V::Int dot_block(const BlockBytes<V>& weights, const int8_t* x, int32_t offset) {
  auto even = V::set_int(offset);
  auto odd = V::set_int(0);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    even = V::dot_4(even, weights[i], V::repeat_4(x + 4 * i));
    odd = V::dot_4(odd, weights[i + 1], V::repeat_4(x + 4 * i + 4));
  }
  return V::add_int(even, odd);
}

template <typename V, typename Format, int kTile>
void dot_bytes_tile(const std::byte* panel, const Columns& columns, int32_t begin, float* out) {
  const int32_t blocks = columns.length / kQuantBlock;
  typename V::Float totals[kTile];
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) totals[c] = V::set(0);
  for (int32_t b = 0; b < blocks; ++b) {
    const std::byte* block = panel + b * Format::kBytes;
    prefetch_block<Format>(block + kPrefetchBytes);
    BlockBytes<V> weights;
    Format::load_weights(block, weights);
    const auto scale = Format::scale(block);
    const auto minimum = Format::minimum(block);
    // A tile's columns begin at a multiple of 8, so they lie side by side.
    const int64_t first = column_place(begin, b, blocks);
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) {
      const int64_t place = first + c;
      const int8_t* x = columns.values + place * kQuantBlock;
      const auto dot = dot_block<V>(weights, x, Format::kHasOffset ? columns.offsets[place] : 0);
      totals[c] = add_block<V, Format>(totals[c], dot, scale, minimum, columns, place);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) V::store(out + int64_t{begin + c} * kPanelRows, totals[c]);
}

template <typename V, typename Format>
void dot_bytes(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  static_assert(V::kLanes == kPanelRows);
  for_each_tile<V::kColumns>(count, [&](auto tile, int32_t begin) {
    dot_bytes_tile<V, Format, decltype(tile)::kSize>(panel, columns, begin, out);
  });
}

}  // namespace sluice::engine::cpu
