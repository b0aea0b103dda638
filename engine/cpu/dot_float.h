#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/stored_element.h"
#include "engine/cpu/tile.h"

namespace sluice::engine::cpu {

/// Products with float weights, in float32; see Dot. Even and odd elements are summed apart where there are registers
/// for it: each sum waits for the one before, which for one column takes longer than to read the weights.
template <typename V, typename Element>
void dot_float(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  constexpr int kParts = kPanelRows / V::kLanes;
  constexpr int kChains = kParts == 1 ? 2 : 1;
  constexpr int kSums = kChains * kParts;
  const auto* weights = reinterpret_cast<const typename Element::Stored*>(panel);
  for_each_tile<V::kColumns>(count, [&](auto tile, int32_t begin) {
    constexpr int kTile = decltype(tile)::kSize;
    const float* x = columns.floats + int64_t{begin} * columns.length;
    typename V::Float sums[kTile][kSums];
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kSums; ++i) sums[i / kSums][i % kSums] = V::set(0);
    // Element k of the panel's rows, to the sums from `first` on.
    const auto add = [&](int32_t k, int first) {
      const auto* from = weights + int64_t{k} * kPanelRows;
      __builtin_prefetch(reinterpret_cast<const std::byte*>(from) + kPrefetchBytes);
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        const auto w = Element::load(from + part * V::kLanes);
#pragma GCC unroll 8
        for (int c = 0; c < kTile; ++c) {
          sums[c][first + part] = V::fma(w, V::set(x[int64_t{c} * columns.length + k]), sums[c][first + part]);
        }
      }
    };
    int32_t k = 0;
    for (; k + kChains <= columns.length; k += kChains) {
      add(k, 0);
      if constexpr (kChains == 2) add(k + 1, kParts);
    }
    for (; k < columns.length; ++k) add(k, 0);
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) {
      const auto& of_column = sums[i / kParts];
      const int part = i % kParts;
      const auto sum = kChains == 2 ? V::add(of_column[part], of_column[kSums - kParts + part]) : of_column[part];
      V::store(out + (begin + i / kParts) * kPanelRows + part * V::kLanes, sum);
    }
  });
}

}  // namespace sluice::engine::cpu
