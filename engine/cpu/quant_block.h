#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/cpu/kernels.h"
#include "engine/cpu/packed_layout.h"

// What products of quantised weights have in common, over the vector wrapper V (simd_emulated.h).

namespace sluice::engine::cpu {

/// How a packed block of 32 elements is read. `part` says which of the panel's rows: with 16 lanes all (0), with 8
/// lanes the first (0) or the last (1) eight. Blocks are counted through the panel.
template <typename V, TensorType kType>
class PackedBlocks {
 public:
  static constexpr PackedLayout kLayout = packed_layout(kType);
  static constexpr QuantScheme kScheme = kLayout.scheme;
  static constexpr int kScales = kLayout.scales();  ///< of a block: 2 if either half of it has its own
  static constexpr bool kHasMinimum = kScheme.has_minimum || kScales == 2 || kType == TensorType::kQ4_0;
  static constexpr int64_t kBytes = kLayout.bytes();  ///< of a unit
  static constexpr int64_t kBlockBytes = kBytes / kScheme.blocks;

  using Bytes = typename V::Bytes;
  using Float = typename V::Float;
  /// A block's weights as unsigned bytes: register i holds elements 4i to 4i + 3 of each row.
  using Weights = Bytes[8];

  [[gnu::always_inline]] static void prefetch(const std::byte* panel, int32_t block) {
    const std::byte* begin = panel + block * kBlockBytes;
    for (int64_t line = 0; line < kBlockBytes; line += 64) __builtin_prefetch(begin + line);
  }

  [[gnu::always_inline]] static void load_weights(const std::byte* panel, int32_t block, int part, Weights& weights) {
    load_weights(panel, block, part, weights, std::make_integer_sequence<int, 8>());
  }

  /// Of half `half` of the block, or where kScales is 1 of all of it.
  [[gnu::always_inline]] static Float scale(const std::byte* panel, int32_t block, int part, int half) {
    const std::byte* unit = unit_of(panel, block);
    const auto* scales = reinterpret_cast<const uint16_t*>(unit + kLayout.scales_at()) + part * V::kLanes;
    if constexpr (kScheme.has_bf16_scale) return V::load_bf16(scales);
    if constexpr (kScheme.groups == 0) return V::load_f16(scales);
    const std::byte* bytes = unit + kLayout.scale_bytes_at(place_of(block)) + half * kPanelRows;
    return V::mul(V::load_f16(scales), load_bytes_as_floats(bytes, part));
  }

  /// What is added for each x: the stored minimum, or -zero * scale, which takes the quants' zero off. The quants of
  /// types that have neither stand offset() too high.
  [[gnu::always_inline]] static Float minimum(const std::byte* panel, int32_t block, int part, int half, Float scale) {
    if constexpr (!kScheme.has_minimum) return V::mul(scale, V::set(-static_cast<float>(kScheme.zero)));
    const std::byte* unit = unit_of(panel, block);
    const Float minima = V::load_f16(reinterpret_cast<const uint16_t*>(unit + kLayout.minima_at()) + part * V::kLanes);
    if constexpr (kScheme.groups == 0) return minima;
    const std::byte* bytes = unit + kLayout.minimum_bytes_at(place_of(block)) + half * kPanelRows;
    return V::mul(minima, load_bytes_as_floats(bytes, part));
  }

  /// -zero * sum of the block's x, what products of the quants are off by.
  [[gnu::always_inline]] static int32_t offset(const Columns& columns, int64_t place) {
    return kHasMinimum ? 0 : columns.offsets[place] >> kOffsetShift;
  }

 private:
  static constexpr int kOffsetShift = 7 - std::countr_zero(static_cast<uint32_t>(kScheme.zero) | 128U);  // from 128
  static constexpr int kLowBits = kLayout.low_bits();
  static constexpr int kHighBits = kLayout.high_bits();
  static constexpr int64_t kPartBytes = V::kLanes * 4;
  static constexpr int64_t kRegisterBytes = kPanelRows * 4;

  [[gnu::always_inline]] static const std::byte* unit_of(const std::byte* panel, int32_t block) {
    return panel + block / kScheme.blocks * kBytes;
  }
  [[gnu::always_inline]] static int32_t place_of(int32_t block) { return block % kScheme.blocks; }

  [[gnu::always_inline]] static Float load_bytes_as_floats(const std::byte* from, int part) {
    return V::load_int8(reinterpret_cast<const int8_t*>(from) + part * V::kLanes);
  }

  template <int... kIndex>
  [[gnu::always_inline]] static void load_weights(const std::byte* panel, int32_t block, int part, Weights& weights,
                                                  std::integer_sequence<int, kIndex...> /*all*/) {
    const std::byte* unit = unit_of(panel, block) + part * kPartBytes;
    const std::byte* low = unit + kLayout.low_plane_at(place_of(block));
    const std::byte* high = unit + kLayout.high_plane_at(place_of(block));
    ((weights[kIndex] = weight<kIndex>(low, high)), ...);
  }

  template <int kIndex>
  [[gnu::always_inline]] static Bytes weight(const std::byte* low, const std::byte* high) {
    constexpr int kLowFields = 8 / kLowBits;
    Bytes x = V::load_bytes(low + kIndex / kLowFields * kRegisterBytes);
    if constexpr (kLowBits < 8) {
      x = V::mask(V::template shift<-kLowBits*(kIndex % kLowFields)>(x), (1 << kLowBits) - 1);
    }
    if constexpr (kHighBits > 0) {
      constexpr int kHighFields = 8 / kHighBits;
      const Bytes fields = V::load_bytes(high + kIndex / kHighFields * kRegisterBytes);
      x = V::or_masked(x, V::template shift<kLowBits - kHighBits*(kIndex % kHighFields)>(fields),
                       ((1 << kHighBits) - 1) << kLowBits);
    }
    if constexpr (kScheme.has_table) x = V::look_up(kScheme.table, x);
    return x;
  }
};

/// Scales and minima of a block, as PackedBlocks has them.
template <typename V, typename Blocks>
struct BlockScales {
  typename V::Float scales[Blocks::kScales];
  typename V::Float minima[Blocks::kScales];

  [[gnu::always_inline]] void load(const std::byte* panel, int32_t block, int part) {
#pragma GCC unroll 2
    for (int half = 0; half < Blocks::kScales; ++half) {
      scales[half] = Blocks::scale(panel, block, part, half);
      if constexpr (Blocks::kHasMinimum) minima[half] = Blocks::minimum(panel, block, part, half, scales[half]);
    }
  }
};

/// total + scale * x_scale * dot (+ minimum * x_sum), for either half that has its own scale: how every block's
/// products enter a sum, whatever computed them.
template <typename V, typename Blocks>
[[gnu::always_inline]] inline typename V::Float add_block(typename V::Float total,
                                                          const typename V::Int (&dots)[Blocks::kScales],
                                                          const BlockScales<V, Blocks>& block, const Columns& columns,
                                                          int64_t place) {
  const float* sums = Blocks::kScales == 1 ? columns.sums + place : columns.half_sums + 2 * place;
#pragma GCC unroll 2
  for (int half = 0; half < Blocks::kScales; ++half) {
    const auto both_scales = V::mul(block.scales[half], V::set(columns.scales[place]));
    total = V::fma(V::to_float(dots[half]), both_scales, total);
    if constexpr (Blocks::kHasMinimum) total = V::fma(block.minima[half], V::set(sums[half]), total);
  }
  return total;
}

}  // namespace sluice::engine::cpu
