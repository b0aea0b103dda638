#pragma once

#include <cstdint>

#include "engine/cpu/dot_bytes.h"

// Products of quantised weights with many columns of 8-bit activations, for machines with matrix tiles T (simd_amx.h).
// Tiles give the same integers as dot_4 does, and enter the sums in the same way: so the results are bit-equal to
// dot_bytes.h, and which of the two computes a column may depend on the batch.

namespace sluice::engine::cpu {

/// Below so many columns a tile, which always computes 16, costs more than it saves.
inline constexpr int32_t kTileColumnsMin = 12;

template <typename V, typename T, TensorType kType>
class TileProduct {
  using Blocks = PackedBlocks<V, kType>;

 public:
  TileProduct(const std::byte* panel, const Columns& columns, int32_t count, float* out)
      : panel_(panel), columns_(columns), count_(count), out_(out), block_count_(columns.length / kQuantBlock) {}

  void run() {
    for (int32_t begin = 0; begin < block_count_; begin += kRun) {
      const int32_t blocks = block_count_ - begin < kRun ? block_count_ - begin : kRun;
      unpack(begin, blocks);
      for (int32_t column = 0; column < count_; column += T::kColumns) {
        later_ = column == 0 ? begin + blocks : kNone;
        add_run(begin, blocks, column);
      }
    }
  }

 private:
  static constexpr int32_t kGroup = 4;            // blocks whose tiles are computed before any is added up
  static constexpr int32_t kRun = 16;             // blocks unpacked at a time: 8 KiB, which stay in the L1 cache
  static constexpr int64_t kUnpackedBytes = 512;  // of one block
  static constexpr int32_t kNone = -1;
  static constexpr int kScales = Blocks::kScales;
  using TileSums = int32_t[kScales][T::kColumns * kPanelRows];

  void unpack(int32_t begin, int32_t blocks) {
    for (int32_t b = 0; b < blocks; ++b) {
      typename Blocks::Weights weights;
      Blocks::load_weights(panel_, begin + b, 0, weights);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) V::store_bytes(weights_ + b * kUnpackedBytes + 64 * i, weights[i]);
      BlockScales<V, Blocks> block;
      block.load(panel_, begin + b, 0);
#pragma GCC unroll 2
      for (int half = 0; half < kScales; ++half) {
        V::store(scales_[b][half], block.scales[half]);
        if constexpr (Blocks::kHasMinimum) V::store(minima_[b][half], block.minima[half]);
      }
    }
  }

  // The tiles of the next group of blocks are computed before this group's are added up: a tile that was just stored
  // can't be loaded again before the store has reached the cache.
  void add_run(int32_t begin, int32_t blocks, int32_t column) {
    typename V::Float totals[T::kColumns];
    const int32_t columns = count_ - column < T::kColumns ? count_ - column : T::kColumns;
    float* out = out_ + int64_t{column} * kPanelRows;
#pragma GCC unroll 16
    for (int c = 0; c < T::kColumns; ++c) {
      totals[c] = begin == 0 || c >= columns ? V::set(0) : V::load(out + c * kPanelRows);
    }
    multiply_group(begin, 0, blocks, column);
    for (int32_t b = 0; b < blocks; b += kGroup) {
      if (b + kGroup < blocks) multiply_group(begin, b + kGroup, blocks, column);
      const int32_t end = blocks - b < kGroup ? blocks : b + kGroup;
      for (int32_t i = b; i < end; ++i) add_tile(sums_[i % (2 * kGroup)], begin, i, column, totals);
    }
#pragma GCC unroll 16
    for (int c = 0; c < T::kColumns; ++c) {
      if (c < columns) V::store(out + c * kPanelRows, totals[c]);
    }
  }

  void multiply_group(int32_t begin, int32_t b, int32_t blocks, int32_t column) {
    for (int32_t i = b; i < b + kGroup; i += 2) {
      if (i < blocks) multiply<0>(begin, i, column);
      if (i + 1 < blocks) multiply<1>(begin, i + 1, column);
    }
  }

  template <int kSet>
  void multiply(int32_t begin, int32_t b, int32_t column) {
    const int8_t* x = columns_.values + column_place(column, begin + b, block_count_) * kQuantBlock;
    const std::byte* weights = weights_ + b * kUnpackedBytes;
    auto& sums = sums_[b % (2 * kGroup)];
    if constexpr (kScales == 1) {
      T::template multiply<kSet>(x, weights, sums[0]);
    } else {
      T::template multiply_half<0>(x, weights, sums[0]);
      T::template multiply_half<1>(x + kQuantBlock / 2, weights + kUnpackedBytes / 2, sums[1]);
    }
  }

  // Columns past the last are computed from whatever lies there, and dropped.
  [[gnu::always_inline]] void add_tile(const TileSums& sums, int32_t begin, int32_t b, int32_t column,
                                       typename V::Float* totals) {
    if (later_ != kNone) Blocks::prefetch(panel_, later_ + b);
    BlockScales<V, Blocks> block;
#pragma GCC unroll 2
    for (int half = 0; half < kScales; ++half) {
      block.scales[half] = V::load(scales_[b][half]);
      if constexpr (Blocks::kHasMinimum) block.minima[half] = V::load(minima_[b][half]);
    }
    const int64_t first = column_place(column, begin + b, block_count_);
#pragma GCC unroll 16
    for (int c = 0; c < T::kColumns; ++c) {
      const int64_t place = first + c;
      typename V::Int dots[kScales];
#pragma GCC unroll 2
      for (int half = 0; half < kScales; ++half) dots[half] = V::load_int(sums[half] + c * kPanelRows);
      if constexpr (!Blocks::kHasMinimum) dots[0] = V::add_int(dots[0], V::set_int(Blocks::offset(columns_, place)));
      totals[c] = add_block<V, Blocks>(totals[c], dots, block, columns_, place);
    }
  }

  const std::byte* panel_;
  const Columns& columns_;
  const int32_t count_;
  float* const out_;
  const int32_t block_count_;
  int32_t later_ = kNone;  // the run of blocks that comes next, which is fetched while this one is used
  alignas(64) std::byte weights_[kRun * kUnpackedBytes];
  alignas(64) float scales_[kRun][kScales][kPanelRows];
  alignas(64) float minima_[kRun][kScales][kPanelRows];
  alignas(64) TileSums sums_[2 * kGroup];
};

template <typename V, typename T, TensorType kType>
void dot_tiles(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  if (count < kTileColumnsMin) return dot_bytes<V, kType>(panel, columns, count, out);
  TileProduct<V, T, kType>(panel, columns, count, out).run();
}

}  // namespace sluice::engine::cpu
