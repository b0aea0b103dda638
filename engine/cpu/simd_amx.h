#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include "engine/cpu/kernels.h"
#include "engine/cpu/simd_avx512.h"

// Included by the file that is compiled for AMX alone.

namespace sluice::engine::cpu {

/// What LDTILECFG loads (Intel SDM, "LDTILECFG"): palette, start row, then bytes per row and rows of each tile
/// register.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

/// Machines with tiles have AVX512-BF16 too, whose conversions are single instructions; they take denormals for zeros,
/// as tiles do.
struct Avx512Bf16 : Avx512 {
  static void store_bf16(uint16_t* to, Float x) {
    const __m256bh halves = _mm512_cvtneps_pbh(x);
    __builtin_memcpy(to, &halves, sizeof(halves));
  }
};

/// Tiles of AMX-INT8 and AMX-BF16. Of bytes: sums [16 columns][16 weight rows] of products over one block of 32. Two
/// sets of sums, so that one can be read while the other is computed. What each operation does is defined by
/// EmulatedTiles (simd_emulated.h), to which it is bit-equal.
///
/// The tile registers hold numbers between begin() and end() on the same thread; so no object is needed.
struct AmxTiles {
  static constexpr int kColumns = 16;

  /// For multiply().
  static void begin_bytes() { _tile_loadconfig(&kByteShapes); }
  /// For multiply_pair().
  static void begin_floats() { _tile_loadconfig(&kFloatShapes); }
  static void end() { _tile_release(); }

  /// sums[set][c][r] = sum over k < 32 of x[c][k] * weights[k / 4][r][k % 4], written out to `sums` [16][16].
  template <int kSet>
  static void multiply(const int8_t* x, const std::byte* weights, int32_t* sums) {
    // g++ 12 doesn't know that the loads below read memory: without this, they could overtake the stores that filled
    // it.
    asm volatile("" ::: "memory");
    if constexpr (kSet == 0) {
      _tile_zero(0);
      _tile_loadd(2, x, 32);
      _tile_loadd(4, weights, 64);
      _tile_dpbsud(0, 2, 4);
      _tile_stored(0, sums, 64);
    } else {
      _tile_zero(1);
      _tile_loadd(3, x, 32);
      _tile_loadd(5, weights, 64);
      _tile_dpbsud(1, 3, 5);
      _tile_stored(1, sums, 64);
    }
  }

  /// The same over half a block: k < 16. `x` and `weights` are where the half begins.
  template <int kSet>
  static void multiply_half(const int8_t* x, const std::byte* weights, int32_t* sums) {
    asm volatile("" ::: "memory");
    _tile_loadd(6, x, 32);
    _tile_loadd(7, weights, 64);
    if constexpr (kSet == 0) {
      _tile_zero(0);
      _tile_dpbsud(0, 6, 7);
      _tile_stored(0, sums, 64);
    } else {
      _tile_zero(1);
      _tile_dpbsud(1, 6, 7);
      _tile_stored(1, sums, 64);
    }
  }

  /// See PairProduct and EmulatedTiles. All sums stay in registers, and each tile that is loaded is used twice.
  static void multiply_pair(const PairProduct& task) {
    asm volatile("" ::: "memory");
    _tile_zero(0);
    _tile_zero(1);
    if (task.tiles == 1) {
      task.rests == nullptr ? add_one<false>(task) : add_one<true>(task);
    } else {
      _tile_zero(2);
      _tile_zero(3);
      task.rests == nullptr ? add_two<false>(task) : add_two<true>(task);
      _tile_stored(2, task.first_out + kTileFloats, 64);
      _tile_stored(3, task.second_out + kTileFloats, 64);
    }
    _tile_stored(0, task.first_out, 64);
    _tile_stored(1, task.second_out, 64);
  }

 private:
  static constexpr int64_t kTileFloats = 16 * 16;
  static constexpr int64_t kBlockHalves = 32 * 16;

  template <bool kHasRests>
  static void add_one(const PairProduct& task) {
    for (int64_t at = 0; at < task.blocks * kBlockHalves; at += kBlockHalves) {
      _tile_loadd(6, task.columns + at, 64);
      _tile_loadd(4, task.first + at, 64);
      _tile_dpbf16ps(0, 6, 4);
      _tile_loadd(5, task.second + at, 64);
      _tile_dpbf16ps(1, 6, 5);
      if constexpr (kHasRests) {
        _tile_loadd(6, task.rests + at, 64);
        _tile_dpbf16ps(0, 6, 4);
        _tile_dpbf16ps(1, 6, 5);
      }
    }
  }

  template <bool kHasRests>
  static void add_two(const PairProduct& task) {
    const uint16_t* later_columns = task.columns + task.tile_stride;
    for (int64_t at = 0; at < task.blocks * kBlockHalves; at += kBlockHalves) {
      _tile_loadd(6, task.columns + at, 64);
      _tile_loadd(4, task.first + at, 64);
      _tile_dpbf16ps(0, 6, 4);
      _tile_loadd(5, task.second + at, 64);
      _tile_dpbf16ps(1, 6, 5);
      _tile_loadd(7, later_columns + at, 64);
      _tile_dpbf16ps(2, 7, 4);
      _tile_dpbf16ps(3, 7, 5);
      if constexpr (kHasRests) {
        _tile_loadd(6, task.rests + at, 64);
        _tile_dpbf16ps(0, 6, 4);
        _tile_dpbf16ps(1, 6, 5);
        _tile_loadd(7, task.rests + task.tile_stride + at, 64);
        _tile_dpbf16ps(2, 7, 4);
        _tile_dpbf16ps(3, 7, 5);
      }
    }
  }

  // Static, as g++ 12 takes LDTILECFG for a load of 8 bytes, and would not store the rest of a local one.
  static constexpr TileShapes kByteShapes{.row_bytes = {64, 64, 32, 32, 64, 64, 16, 64},
                                          .rows = {16, 16, 16, 16, 8, 8, 16, 4}};
  static constexpr TileShapes kFloatShapes{.row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                           .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
};

}  // namespace sluice::engine::cpu
