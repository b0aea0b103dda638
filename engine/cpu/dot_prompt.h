#pragma once

#include <cstdint>

#include "engine/cpu/dot_bytes.h"

// Products of quantised weights with many columns of bfloat16 activations, for machines with matrix tiles T
// (simd_amx.h). Weights become bfloat16 once for many columns, and are summed in float inside the tiles: there is
// nothing left to do per block, which is what limits products of bytes.

namespace sluice::engine::cpu {

/// See Unpack.
template <typename V, typename Format>
void unpack_panel(const std::byte* panel, int32_t blocks, uint16_t* to) {
  for (int32_t b = 0; b < blocks; ++b, panel += Format::kBytes) {
    prefetch_block<Format>(panel + kPrefetchBytes);
    BlockBytes<V> weights;
    Format::load_weights(panel, weights);
    const auto scale = Format::scale(panel);
    // Bytes stand 128 too high where a format has no minimum.
    const auto minimum = Format::kHasMinimum ? Format::minimum(panel) : V::mul(scale, V::set(-128.0F));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      typename V::Float values[4];
#pragma GCC unroll 4
      for (int byte = 0; byte < 4; ++byte) values[byte] = V::fma(V::byte_of(weights[i], byte), scale, minimum);
      V::store_bf16_pairs(to, values[0], values[1]);
      V::store_bf16_pairs(to + 2 * kPanelRows, values[2], values[3]);
      to += 4 * kPanelRows;
    }
  }
}

/// What prompts are computed with on machines with tiles T.
template <typename V, typename T>
constexpr PromptProducts prompt_products() {
  return {.q4_0 = unpack_panel<V, Q4_0Bytes<V>>,
          .q4_1 = unpack_panel<V, Q4_1Bytes<V>>,
          .q5_1 = unpack_panel<V, Q5_1Bytes<V>>,
          .q8_0 = unpack_panel<V, Q8_0Bytes<V>>,
          .multiply = T::multiply_pair,
          .begin = T::begin_floats,
          .end = T::end};
}

}  // namespace sluice::engine::cpu
