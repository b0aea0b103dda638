#pragma once

#include <cstdint>

#include "engine/cpu/dot_bytes.h"

// Products of quantised weights with many columns of bfloat16 activations, for machines with matrix tiles T
// (simd_amx.h). Weights become bfloat16 once for all columns of a call, and are summed in float inside the tiles: there
// is nothing left to do per block, which is what limits products of bytes.

namespace sluice::engine::cpu {

template <typename V, typename T, typename Format>
class PromptProduct {
 public:
  PromptProduct(const std::byte* panel, const Columns& columns, int32_t count, float* out)
      : panel_(panel), columns_(columns), count_(count), out_(out) {}

  void run() {
    const int32_t block_count = columns_.length / kQuantBlock;
    for (int32_t i = 0; i < (count_ + 15) / 16 * 16 * kPanelRows; i += V::kLanes) V::store(out_ + i, V::set(0));
    for (int32_t begin = 0; begin < block_count; begin += kRun) {
      const int32_t blocks = block_count - begin < kRun ? block_count - begin : kRun;
      for (int32_t b = 0; b < blocks; ++b) unpack(begin + b, weights_ + b * kBlockHalves);
      for (int32_t column = 0; column < count_; column += 4 * T::kColumns) {
        const uint16_t* x = columns_.halves + column_place(column, begin, block_count) * kQuantBlock;
        const int32_t tiles = (count_ - column + T::kColumns - 1) / T::kColumns;
        T::add_products(x, int64_t{block_count} * kTileHalves, weights_, blocks, tiles < 4 ? tiles : 4,
                        out_ + column * kPanelRows);
      }
    }
  }

 private:
  static constexpr int32_t kRun = 16;                                 // blocks unpacked at a time: 16 KiB
  static constexpr int32_t kTileHalves = kQuantBlock * kColumnLanes;  // of one tile of columns
  static constexpr int32_t kBlockHalves = kQuantBlock * kPanelRows;   // of one block

  // To [16 pairs of k][16 rows][2].
  void unpack(int32_t b, uint16_t* to) {
    const std::byte* block = panel_ + int64_t{b} * Format::kBytes;
    for (int64_t line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block + kPrefetchBytes + line);
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

  const std::byte* panel_;
  const Columns& columns_;
  const int32_t count_;
  float* const out_;
  alignas(64) uint16_t weights_[kRun * kBlockHalves];
};

/// out has room for whole tiles of columns.
template <typename V, typename T, typename Format>
void dot_prompt(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  PromptProduct<V, T, Format>(panel, columns, count, out).run();
}

}  // namespace sluice::engine::cpu
