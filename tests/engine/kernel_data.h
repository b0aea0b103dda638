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
    half_sums.resize(2 * scales.size());
    offsets.resize(scales.size());
    halves.resize(floats.size());
    rests.resize(floats.size());
    for (int32_t c = 0; c < count; ++c) {
      const auto place = static_cast<size_t>(column_place(c, 0, blocks));
      const float* column = &floats[static_cast<size_t>(c) * static_cast<size_t>(length)];
      kernels.quantize(
          column, length,
          {&values[place * kQuantBlock], &scales[place], &sums[place], &half_sums[2 * place], &offsets[place]});
      kernels.to_halves(column, length, &halves[place * kQuantBlock], &rests[place * kQuantBlock]);
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
            .rests = rests.data(),
            .values = values.data(),
            .scales = scales.data(),
            .sums = sums.data(),
            .half_sums = half_sums.data(),
            .offsets = offsets.data()};
  }

  int32_t length;
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  std::vector<uint16_t> rests;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<float> sums;
  std::vector<float> half_sums;
  std::vector<int32_t> offsets;
};

/// A panel of bfloat16 rows of `length`.
inline std::vector<std::byte> random_bf16_panel(int32_t length, Random& random) {
  std::vector<std::byte> panel(static_cast<size_t>(length) * kPanelRows * sizeof(uint16_t));
  for (size_t at = 0; at < panel.size(); at += sizeof(uint16_t)) {
    const uint16_t bits = float_to_bf16(random.uniform(-2, 2));
    std::memcpy(&panel[at], &bits, sizeof(bits));
  }
  return panel;
}

/// A panel of rows of `length`, a multiple of the type's block, with any quants and scales of both signs.
inline std::vector<std::byte> random_panel(TensorType type, int32_t length, Random& random) {
  const PackedLayout layout = packed_layout(type);
  const int32_t units = length / traits_of(type).block_elements;
  // Kernels may fetch beyond the panel, not read there.
  std::vector<std::byte> panel(static_cast<size_t>(layout.bytes() * units));
  for (std::byte& byte : panel) byte = static_cast<std::byte>(random.integer(0, 255));
  const float largest = layout.scheme.groups > 0 ? 0.005F : 0.2F;
  for (int64_t unit = 0; unit < units; ++unit) {
    for (int64_t at = layout.scales_at(); at < layout.bytes(); at += 2) {
      const float value = random.uniform(-largest, largest);
      const uint16_t bits = layout.scheme.has_bf16_scale ? float_to_bf16(value) : float_to_half(value);
      std::memcpy(panel.data() + unit * layout.bytes() + at, &bits, sizeof(bits));
    }
  }
  return panel;
}

}  // namespace sluice::engine::cpu
