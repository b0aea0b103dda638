#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cpu/kernels.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cpu {

/// One stored tensor, packed so that a vector register holds the same places of 16 rows (a panel): sums then stay in
/// lanes and no horizontal add is needed. Rows past the last are zero.
///
/// Float types: [panel][length][16 rows] elements as stored.
/// Quantised types: [panel][block of 32], a block being
///   Q4_0, Q4_1: 4 x [16 rows][4 bytes]: byte i of quarter j holds element 8j + i in its low nibble and 8j + 4 + i in
///   its high one; all others: 8 x [16 rows][4 bytes]: byte i of eighth j is element 4j + i, of Q8_0 plus 128, of Q5_0
///   plus 112;
/// then 16 half scales d and, for Q4_1 and Q5_1, 16 half minima m: x = d * q + m. Q4_0 is x = d * (q - 8), Q8_0 and
/// Q5_0, which look alike, x = d * (q - 128).
struct PackedPart {
  TensorType type = TensorType::kF32;
  int32_t row_begin = 0;  ///< of its first row in the whole matrix
  int32_t row_count = 0;
  int32_t length = 0;  ///< elements of a row
  const std::byte* panels = nullptr;

  int32_t panel_count() const { return (row_count + kPanelRows - 1) / kPanelRows; }
  int64_t panel_bytes() const;
  bool is_quantized() const;
};

/// Packs panel `panel` of a tensor's rows, stored one after the other in `source`, to `target` [part.panel_bytes()].
void pack_panel(const PackedPart& part, std::span<const std::byte> source, int32_t panel, std::byte* target);

/// Decodes row `row` of the part, exactly as dequantize() would from the stored tensor, to out[part.length].
void unpack_row(const PackedPart& part, int32_t row, std::span<float> out);

}  // namespace sluice::engine::cpu
