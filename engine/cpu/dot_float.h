#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/stored_element.h"
#include "engine/cpu/tile.h"

namespace sluice::engine::cpu {

/// Products with float weights, in float32; see Dot.
template <typename V, typename Element>
void dot_float(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  constexpr int kParts = kPanelRows / V::kLanes;
  const auto* weights = reinterpret_cast<const typename Element::Stored*>(panel);
  for_each_tile<V::kColumns>(count, [&](auto tile, int32_t begin) {
    constexpr int kTile = decltype(tile)::kSize;
    const float* x = columns.floats + int64_t{begin} * columns.length;
    typename V::Float sums[kTile][kParts];
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) sums[i / kParts][i % kParts] = V::set(0);
    for (int32_t k = 0; k < columns.length; ++k) {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        const auto w = Element::load(weights + int64_t{k} * kPanelRows + part * V::kLanes);
#pragma GCC unroll 8
        for (int c = 0; c < kTile; ++c) {
          sums[c][part] = V::fma(w, V::set(x[int64_t{c} * columns.length + k]), sums[c][part]);
        }
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) {
      V::store(out + (begin + i / kParts) * kPanelRows + i % kParts * V::kLanes, sums[i / kParts][i % kParts]);
    }
  });
}

}  // namespace sluice::engine::cpu
