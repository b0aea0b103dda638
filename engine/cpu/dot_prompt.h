#pragma once

#include <cstdint>

#include "engine/cpu/dot_bytes.h"

// Products of quantised and of bfloat16 weights with many columns of bfloat16 activations, for machines with matrix
// tiles T (simd_amx.h). Weights become bfloat16 once for many columns, and are summed in float inside the tiles: there
// is nothing left to do per block, which is what limits products of bytes.

namespace sluice::engine::cpu {

/// See Unpack.
template <typename V, TensorType kType>
void unpack_panel(const std::byte* panel, int32_t blocks, uint16_t* to) {
  using Blocks = PackedBlocks<V, kType>;
  for (int32_t b = 0; b < blocks; ++b) {
    Blocks::prefetch(panel + kPrefetchBytes, b);
    typename Blocks::Weights weights;
    Blocks::load_weights(panel, b, 0, weights);
#pragma GCC unroll 2
    for (int half = 0; half < Blocks::kScales; ++half) {
      const auto scale = Blocks::scale(panel, b, 0, half);
      const auto minimum = Blocks::minimum(panel, b, 0, half, scale);
      constexpr int kGroups = 8 / Blocks::kScales;
#pragma GCC unroll 8
      for (int i = kGroups * half; i < kGroups * (half + 1); ++i) {
        typename V::Float values[4];
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte) values[byte] = V::fma(V::byte_of(weights[i], byte), scale, minimum);
        V::store_bf16_pairs(to, values[0], values[1]);
        V::store_bf16_pairs(to + 2 * kPanelRows, values[2], values[3]);
        to += 4 * kPanelRows;
      }
    }
  }
}

/// The same of a panel of bfloat16 weights.
template <typename V>
void interleave_panel(const std::byte* panel, int32_t blocks, uint16_t* to) {
  const auto* from = reinterpret_cast<const uint16_t*>(panel);
  for (int32_t pair = 0; pair < blocks * kQuantBlock / 2; ++pair, from += 2 * kPanelRows, to += 2 * kPanelRows) {
    V::store_bf16_pairs(to, V::load_bf16(from), V::load_bf16(from + kPanelRows));
  }
}

template <typename V>
consteval PerType<Unpack> unpacks() {
  auto unpacks = per_quantized_type<Unpack>([](auto type) { return unpack_panel<V, decltype(type)::kType>; });
  unpacks[TensorType::kBf16] = interleave_panel<V>;
  return unpacks;
}

/// What prompts are computed with on machines with tiles T.
template <typename V, typename T>
consteval PromptProducts prompt_products() {
  return {.unpack = unpacks<V>(), .multiply = T::multiply_pair, .begin = T::begin_floats, .end = T::end};
}

}  // namespace sluice::engine::cpu
