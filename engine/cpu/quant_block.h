#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/kernels.h"

// What products of quantised weights have in common, over the vector wrapper V (simd_emulated.h). A Format says how a
// packed block is read: kBytes, kHasMinimum, its weights, scale and minimum.

namespace sluice::engine::cpu {

template <typename Format>
void prefetch_block(const std::byte* block) {
  for (int64_t line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block + line);
}

template <typename V>
typename V::Float load_scales(const std::byte* from) {
  return V::load_f16(reinterpret_cast<const uint16_t*>(from));
}

/// total + scale * x_scale * dot (+ minimum * x_sum): how every block's products enter a sum, whatever computed them.
template <typename V, typename Format>
typename V::Float add_block(typename V::Float total, typename V::Int dot, typename V::Float scale,
                            typename V::Float minimum, const Columns& columns, int64_t place) {
  const auto both_scales = V::mul(scale, V::set(columns.scales[place]));
  total = V::fma(V::to_float(dot), both_scales, total);
  if constexpr (Format::kHasMinimum) total = V::fma(minimum, V::set(columns.sums[place]), total);
  return total;
}

}  // namespace sluice::engine::cpu
