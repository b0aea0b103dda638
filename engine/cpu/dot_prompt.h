#pragma once

#include <cstdint>

#include "engine/cpu/dot_bytes.h"

// Products of quantised weights with many columns of bfloat16 activations, for machines with matrix tiles T
// (simd_amx.h). Weights become bfloat16 once for all columns of a call, and are summed in float inside the tiles: there
// is nothing left to do per block, which is what limits products of bytes.

namespace sluice::engine::cpu {

/// For one panel or two: with two, each tile of columns is read once for both.
template <typename V, typename T, typename Format, int kPanels>
class PromptProduct {
 public:
  PromptProduct(const Columns& columns, int32_t count)
      : columns_(columns), count_(count), block_count_(columns.length / kQuantBlock) {}

  void run(const std::byte* const (&panels)[kPanels], float* const (&outs)[kPanels]) {
    for (float* out : outs) clear(out);
    for (int32_t begin = 0; begin < block_count_; begin += kRun) {
      const int32_t blocks = block_count_ - begin < kRun ? block_count_ - begin : kRun;
      for (int panel = 0; panel < kPanels; ++panel) {
        for (int32_t b = 0; b < blocks; ++b) {
          unpack(panels[panel] + int64_t{begin + b} * Format::kBytes, weights_[panel] + b * kBlockHalves);
        }
      }
      for (int32_t column = 0; column < count_; column += kStep) add_products(begin, blocks, column, outs);
    }
  }

 private:
  static constexpr int32_t kRun = 16;                                 // blocks unpacked at a time: 16 KiB of a panel
  static constexpr int32_t kTileHalves = kQuantBlock * kColumnLanes;  // of one tile of columns
  static constexpr int32_t kBlockHalves = kQuantBlock * kPanelRows;   // of one block
  static constexpr int32_t kStep = 4 / kPanels * T::kColumns;         // columns whose sums fill the tile registers

  void clear(float* out) const {
    const int32_t floats = (count_ + T::kColumns - 1) / T::kColumns * T::kColumns * kPanelRows;
    for (int32_t i = 0; i < floats; i += V::kLanes) V::store(out + i, V::set(0));
  }

  void add_products(int32_t begin, int32_t blocks, int32_t column, float* const (&outs)[kPanels]) {
    const uint16_t* x = columns_.halves + column_place(column, begin, block_count_) * kQuantBlock;
    const int64_t tile_stride = int64_t{block_count_} * kTileHalves;
    const int32_t left = count_ - column < kStep ? count_ - column : kStep;
    const int32_t tiles = (left + T::kColumns - 1) / T::kColumns;
    if constexpr (kPanels == 1) {
      T::add_products(x, tile_stride, weights_[0], blocks, tiles, outs[0] + column * kPanelRows);
    } else {
      T::add_products(x, tile_stride, weights_[0], weights_[1], blocks, tiles, outs[0] + column * kPanelRows,
                      outs[1] + column * kPanelRows);
    }
  }

  // To [16 pairs of k][16 rows][2].
  static void unpack(const std::byte* block, uint16_t* to) {
    prefetch_block<Format>(block + kPrefetchBytes);
    BlockBytes<V> weights;
    Format::load_weights(block, weights);
    const auto scale = Format::scale(block);
    // Bytes stand 128 too high where a format has no minimum.
    const auto minimum = Format::kHasMinimum ? Format::minimum(block) : V::mul(scale, V::set(-128.0F));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      typename V::Float values[4];
#pragma GCC unroll 4
      for (int byte = 0; byte < 4; ++byte) values[byte] = V::fma(V::byte_of(weights[i], byte), scale, minimum);
      V::store_bf16_pairs(to + int64_t{2 * i} * 2 * kPanelRows, values[0], values[1]);
      V::store_bf16_pairs(to + int64_t{2 * i + 1} * 2 * kPanelRows, values[2], values[3]);
    }
  }

  const Columns& columns_;
  const int32_t count_;
  const int32_t block_count_;
  alignas(64) uint16_t weights_[kPanels][kRun * kBlockHalves];
};

/// `out` has room for whole tiles of columns.
template <typename V, typename T, typename Format>
void dot_prompt(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  PromptProduct<V, T, Format, 1>(columns, count).run({panel}, {out});
}

template <typename V, typename T, typename Format>
void dot_prompt_pair(const std::byte* first, const std::byte* second, const Columns& columns, int32_t count,
                     float* first_out, float* second_out) {
  PromptProduct<V, T, Format, 2>(columns, count).run({first, second}, {first_out, second_out});
}

}  // namespace sluice::engine::cpu
