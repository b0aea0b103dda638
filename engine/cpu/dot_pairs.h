#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/quant_block.h"
#include "engine/cpu/tile.h"

// Products of quantised weights with 8-bit activations, for vectors V of 8 lanes with dot_2 (vpmaddubsw): a panel's 16
// rows are two parts, one lane each.

namespace sluice::engine::cpu {

/// The sums of products of groups of four weights with x, which must fit pairs of 16 bits as far as they are added
/// there.
template <typename V, TensorType kType>
struct PairProduct8 {
  static constexpr QuantScheme kScheme = quant_scheme(kType);
  // Bytes in [0, 255] would not fit, not even alone; taken as signed they do.
  static constexpr bool kIsSigned = kScheme.zero == 128;
  static constexpr int kLargest = kIsSigned ? 128 : (1 << kScheme.bits) - 1;
  /// Products of pairs that can be added before 16 bits overflow: |x| <= 127.
  static constexpr int kPairs = 32767 / (2 * kLargest * 127);
  static constexpr int kRun = kPairs >= 8 ? 8 : kPairs >= 4 ? 4 : kPairs >= 2 ? 2 : 1;

  /// Of `kCount` groups.
  template <int kCount>
  [[gnu::always_inline]] static typename V::Int dot(const typename V::Bytes* weights, const int8_t* x) {
    constexpr int kStep = kRun < kCount ? kRun : kCount;
    auto sum = V::sum_pairs(run<kStep>(weights, x));
#pragma GCC unroll 8
    for (int i = kStep; i < kCount; i += kStep) sum = V::add_int(sum, V::sum_pairs(run<kStep>(weights + i, x + 4 * i)));
    return sum;
  }

 private:
  template <int kStep>
  [[gnu::always_inline]] static typename V::Pairs run(const typename V::Bytes* weights, const int8_t* x) {
    auto pairs = multiply(weights[0], V::repeat_4(x));
#pragma GCC unroll 8
    for (int i = 1; i < kStep; ++i) pairs = V::add_pairs(pairs, multiply(weights[i], V::repeat_4(x + 4 * i)));
    return pairs;
  }

  // dot_2 wants one unsigned side: of signed weights that is |w|, the sign being moved to x.
  [[gnu::always_inline]] static typename V::Pairs multiply(typename V::Bytes weights, typename V::Bytes x) {
    if constexpr (!kIsSigned) return V::dot_2(weights, x);
    return V::dot_2(V::abs_bytes(weights), V::with_sign(x, weights));
  }
};

template <typename V, TensorType kType, int kTile>
void dot_pairs_part(const std::byte* panel, const Columns& columns, int32_t begin, int part, float* out) {
  using Blocks = PackedBlocks<V, kType>;
  using Product = PairProduct8<V, kType>;
  const int32_t blocks = columns.length / kQuantBlock;
  typename V::Float totals[kTile];
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) totals[c] = V::set(0);
  for (int32_t b = 0; b < blocks; ++b) {
    if (part == 0) Blocks::prefetch(panel + kPrefetchBytes, b);
    typename Blocks::Weights weights;
    Blocks::load_weights(panel, b, part, weights);
    if constexpr (Product::kIsSigned) {
#pragma GCC unroll 8
      for (auto& bytes : weights) bytes = V::flip_signs(bytes);
    }
    BlockScales<V, Blocks> block;
    block.load(panel, b, part);
    // A tile's columns begin at a multiple of 8, so they lie side by side.
    const int64_t first = column_place(begin, b, blocks);
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) {
      const int64_t place = first + c;
      const int8_t* x = columns.values + place * kQuantBlock;
      constexpr int kGroups = 8 / Blocks::kScales;
      typename V::Int dots[Blocks::kScales];
#pragma GCC unroll 2
      for (int half = 0; half < Blocks::kScales; ++half) {
        dots[half] = Product::template dot<kGroups>(weights + kGroups * half, x + 4 * kGroups * half);
      }
      if constexpr (!Product::kIsSigned && !Blocks::kHasMinimum) {
        dots[0] = V::add_int(dots[0], V::set_int(Blocks::offset(columns, place)));
      }
      totals[c] = add_block<V, Blocks>(totals[c], dots, block, columns, place);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kTile; ++c) V::store(out + int64_t{begin + c} * kPanelRows + V::kLanes * part, totals[c]);
}

template <typename V, TensorType kType>
void dot_pairs(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  static_assert(2 * V::kLanes == kPanelRows);
  for_each_tile<8>(count, [&](auto tile, int32_t begin) {
    dot_pairs_part<V, kType, decltype(tile)::kSize>(panel, columns, begin, 0, out);
    dot_pairs_part<V, kType, decltype(tile)::kSize>(panel, columns, begin, 1, out);
  });
}

}  // namespace sluice::engine::cpu
