#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/tensor_type.h"
#include "tests/engine/backend_batch.h"

namespace sluice::engine::cpu {

/// Columns of a product that own their memory.
struct TestColumns {
  /// `count` random columns, quantised by `kernels`.
  TestColumns(const Kernels& kernels, int32_t count, int32_t length, Random& random) : length(length) {
    const int32_t blocks = length / kQuantBlock;
    const auto padded = static_cast<size_t>((count + 2 * kColumnLanes - 1) / kColumnLanes * kColumnLanes);
    floats = random.floats(static_cast<int64_t>(padded) * length, -3, 3);
    values.resize(padded * static_cast<size_t>(length));
    scales.resize(padded * static_cast<size_t>(blocks));
    sums.resize(scales.size());
    offsets.resize(scales.size());
    halves.resize(floats.size());
    for (int32_t c = 0; c < count; ++c) {
      const auto place = static_cast<size_t>(column_place(c, 0, blocks));
      const float* column = &floats[static_cast<size_t>(c) * static_cast<size_t>(length)];
      kernels.quantize(column, length, &values[place * kQuantBlock], &scales[place], &sums[place], &offsets[place]);
      kernels.to_halves(column, length, &halves[place * kQuantBlock]);
    }
  }

  /// Makes the floats what the first `count` columns' quantised values stand for.
  void restore_floats(int32_t count) {
    for (int32_t c = 0; c < count; ++c) {
      for (int32_t k = 0; k < length; ++k) {
        const auto at = static_cast<size_t>(c) * static_cast<size_t>(length) + static_cast<size_t>(k);
        const auto place = static_cast<size_t>(column_place(c, k / kQuantBlock, length / kQuantBlock));
        floats[at] =
            scales[place] * static_cast<float>(values[place * kQuantBlock + static_cast<size_t>(k % kQuantBlock)]);
      }
    }
  }

  Columns view() const {
    return {.length = length,
            .floats = floats.data(),
            .halves = halves.data(),
            .values = values.data(),
            .scales = scales.data(),
            .sums = sums.data(),
            .offsets = offsets.data()};
  }

  int32_t length;
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<float> sums;
  std::vector<int32_t> offsets;
};

/// What packed blocks of a type look like.
struct BlockShape {
  int64_t bytes;
  int32_t byte_max;    ///< of the quants' bytes
  int32_t half_count;  ///< half floats at the end
};

/// A panel of `blocks` packed blocks with any quants and scales of both signs.
inline std::vector<std::byte> random_panel(const BlockShape& shape, int32_t blocks, Random& random) {
  // Kernels may fetch beyond the panel, not read there.
  std::vector<std::byte> panel(static_cast<size_t>(shape.bytes * blocks));
  for (std::byte& byte : panel) byte = static_cast<std::byte>(random.integer(0, shape.byte_max));
  for (int32_t block = 0; block < blocks; ++block) {
    std::byte* halves = panel.data() + (block + 1) * shape.bytes - 2 * shape.half_count;
    for (int32_t i = 0; i < shape.half_count; ++i) {
      const uint16_t half = float_to_half(random.uniform(-0.2F, 0.2F));
      std::memcpy(halves + 2 * i, &half, sizeof(half));
    }
  }
  return panel;
}

}  // namespace sluice::engine::cpu
