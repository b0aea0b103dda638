#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/quant_block.h"
#include "engine/cpu/tile.h"

// Products of quantised weights with 8-bit activations, for vectors V of 8 lanes with dot_2 (vpmaddubsw): a panel's 16
// rows are two halves, one lane each.

namespace sluice::engine::cpu {

template <typename V>
struct Q4_0Pairs {
  static constexpr int64_t kBytes = kQ4_0BlockBytes;
  static constexpr bool kHasMinimum = true;
  using Weights = typename V::Bytes[8];

  static void load_weights(const std::byte* block, int half, Weights& weights) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto both = V::load_bytes(block + 64 * i + 32 * half);
      weights[2 * i] = V::low_nibbles(both);
      weights[2 * i + 1] = V::high_nibbles(both);
    }
  }
  // Eight products of pairs fit 16 bits: 8 * 2 * 15 * 127 = 30480.
  static typename V::Int dot(const Weights& weights, const int8_t* x) {
    auto pairs = V::dot_2(weights[0], V::repeat_4(x));
#pragma GCC unroll 8
    for (int i = 1; i < 8; ++i) pairs = V::add_pairs(pairs, V::dot_2(weights[i], V::repeat_4(x + 4 * i)));
    return V::sum_pairs(pairs);
  }
  static typename V::Float scale(const std::byte* block, int half) {
    return load_scales<V>(block + 256 + 16 * half);
  }
  static typename V::Float minimum(const std::byte* block, int half) {
    return V::mul(scale(block, half), V::set(-8.0F));
  }
};

template <typename V>
struct Q4_1Pairs : Q4_0Pairs<V> {
  static constexpr int64_t kBytes = kQ4_1BlockBytes;
  static typename V::Float minimum(const std::byte* block, int half) { return load_scales<V>(block + 288 + 16 * half); }
};

template <typename V>
struct Q8_0Pairs {
  static constexpr int64_t kBytes = kQ8_0BlockBytes;
  static constexpr bool kHasMinimum = false;
  using Weights = typename V::Bytes[8];

  static void load_weights(const std::byte* block, int half, Weights& weights) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) weights[i] = V::flip_signs(V::load_bytes(block + 64 * i + 32 * half));
  }
  // dot_2 wants one unsigned side: |w| with the sign moved to x. |w| <= 128 and |x| <= 127, so a pair fits 16 bits:
  // 2 * 128 * 127 = 32512, but no second one.
  static typename V::Int dot(const Weights& weights, const int8_t* x) {
    auto sum = V::set_int(0);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const auto pairs = V::dot_2(V::abs_bytes(weights[i]), V::with_sign(V::repeat_4(x + 4 * i), weights[i]));
      sum = V::add_int(sum, V::sum_pairs(pairs));
    }
    return sum;
  }
  static typename V::Float scale(const std::byte* block, int half) {
    return load_scales<V>(block + 512 + 16 * half);
  }
  static typename V::Float minimum(const std::byte* /*block*/, int /*half*/) {
    return V::set(0);
  }
};

template <typename V>
struct Q5_1Pairs : Q8_0Pairs<V> {
  static constexpr int64_t kBytes = kQ5_1BlockBytes;
  static constexpr bool kHasMinimum = true;
  using Weights = typename Q8_0Pairs<V>::Weights;

  static void load_weights(const std::byte* block, int half, Weights& weights) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) weights[i] = V::load_bytes(block + 64 * i + 32 * half);
  }
  // Four products of pairs fit 16 bits: 4 * 2 * 31 * 127 = 31496.
  static typename V::Int dot(const Weights& weights, const int8_t* x) {
    return V::add_int(dot_half(weights, x, 0), dot_half(weights, x, 4));
  }
  static typename V::Float minimum(const std::byte* block, int half) {
    return load_scales<V>(block + 544 + 16 * half);
  }

 private:
  static typename V::Int dot_half(const Weights& weights, const int8_t* x, int first) {
    auto pairs = V::dot_2(weights[first], V::repeat_4(x + 4 * first));
#pragma GCC unroll 4
    for (int i = first + 1; i < first + 4; ++i) {
      pairs = V::add_pairs(pairs, V::dot_2(weights[i], V::repeat_4(x + 4 * i)));
    }
    return V::sum_pairs(pairs);
  }
};

template <typename V, typename Format, int kTile>
void dot_pairs_half(const std::byte* panel, const Columns& columns, int32_t begin, int half, float* out) {
  const int32_t blocks = columns.length / kQuantBlock;
  typename V::Float totals[kTile];
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) totals[c] = V::set(0);
  for (int32_t b = 0; b < blocks; ++b) {
    const std::byte* block = panel + b * Format::kBytes;
    if (half == 0) prefetch_block<Format>(block + kPrefetchBytes);
    typename Format::Weights weights;
    Format::load_weights(block, half, weights);
    const auto scale = Format::scale(block, half);
    const auto minimum = Format::minimum(block, half);
    // A tile's columns begin at a multiple of 8, so they lie side by side.
    const int64_t first = column_place(begin, b, blocks);
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) {
      const int64_t place = first + c;
      const auto dot = Format::dot(weights, columns.values + place * kQuantBlock);
      totals[c] = add_block<V, Format>(totals[c], dot, scale, minimum, columns, place);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) V::store(out + int64_t{begin + c} * kPanelRows + 8 * half, totals[c]);
}

template <typename V, typename Format>
void dot_pairs(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  static_assert(2 * V::kLanes == kPanelRows);
  for_each_tile<8>(count, [&](auto tile, int32_t begin) {
    dot_pairs_half<V, Format, decltype(tile)::kSize>(panel, columns, begin, 0, out);
    dot_pairs_half<V, Format, decltype(tile)::kSize>(panel, columns, begin, 1, out);
  });
}

}  // namespace sluice::engine::cpu
