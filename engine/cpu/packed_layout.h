#pragma once

#include <cstdint>

#include "engine/quant_scheme.h"

namespace sluice::engine::cpu {

inline constexpr int32_t kPanelRows = 16;  ///< weight rows computed together

/// How quantised weights lie in a packed panel: units of as many elements of each of 16 rows as a stored block has, one
/// after the other. A unit's quants are cut into two planes, their low bits and what is above them. In order it holds
///   the low planes of its blocks of 32 · their high planes · its scale bytes s, [block][group][16 rows] · its minimum
///   bytes n, the same · 16 scales d · 16 minima m
/// of which a type may lack all but the low planes and the scales; QuantScheme says what they mean.
///
/// A plane of w bits is w registers of [16 rows][4 bytes]. Elements 4i to 4i + 3 of each row are fields of the four
/// bytes of register i / (8 / w), at bit w * (i % (8 / w)). So a register of which fields are masked out holds four
/// elements of each row, which is what products of bytes take.
///
/// Constants only, as in QuantScheme.
struct PackedLayout {
  QuantScheme scheme;

  // 2, 4 and 8 bits are one plane; 3 are 2 + 1, 5 are 4 + 1 and 6 are 4 + 2.
  [[gnu::always_inline]] constexpr int32_t low_bits() const { return scheme.bits == 8 ? 8 : scheme.bits >= 4 ? 4 : 2; }
  [[gnu::always_inline]] constexpr int32_t high_bits() const { return scheme.bits - low_bits(); }
  /// Scales of a block of 32 and row.
  [[gnu::always_inline]] constexpr int32_t scales() const { return scheme.groups == 2 ? 2 : 1; }

  [[gnu::always_inline]] constexpr int64_t low_plane_at(int64_t block) const { return block * plane_bytes(low_bits()); }
  [[gnu::always_inline]] constexpr int64_t high_plane_at(int64_t block) const {
    return low_plane_at(scheme.blocks) + block * plane_bytes(high_bits());
  }
  [[gnu::always_inline]] constexpr int64_t scale_bytes_at(int64_t block) const {
    return high_plane_at(scheme.blocks) + block * scheme.groups * kPanelRows;
  }
  [[gnu::always_inline]] constexpr int64_t minimum_bytes_at(int64_t block) const {
    return scale_bytes_at(scheme.blocks) + (scheme.has_minimum ? block * scheme.groups * kPanelRows : 0);
  }
  [[gnu::always_inline]] constexpr int64_t scales_at() const { return minimum_bytes_at(scheme.blocks); }
  [[gnu::always_inline]] constexpr int64_t minima_at() const { return scales_at() + kPanelRows * kHalfBytes; }
  /// Of a unit.
  [[gnu::always_inline]] constexpr int64_t bytes() const {
    return scheme.has_minimum ? minima_at() + kPanelRows * kHalfBytes : minima_at();
  }

 private:
  static constexpr int64_t kHalfBytes = 2;

  [[gnu::always_inline]] static constexpr int64_t plane_bytes(int64_t bits) { return bits * kPanelRows * 4; }
};

[[gnu::always_inline]] inline constexpr PackedLayout packed_layout(TensorType type) {
  return {quant_scheme(type)};
}

}  // namespace sluice::engine::cpu
