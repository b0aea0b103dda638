#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cpu/packed_layout.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cpu {

/// One stored tensor, packed so that a vector register holds the same places of 16 rows (a panel): sums then stay in
/// lanes and no horizontal add is needed. Rows past the last are zero.
///
/// Float types: [panel][length][16 rows] elements as stored. Quantised types: [panel][unit]; see PackedLayout.
struct PackedPart {
  TensorType type = TensorType::kF32;
  int32_t row_begin = 0;  ///< of its first row in the whole matrix
  int32_t row_count = 0;
  int32_t length = 0;  ///< elements of a row
  const std::byte* panels = nullptr;

  int32_t panel_count() const { return (row_count + kPanelRows - 1) / kPanelRows; }
  /// Of the panel: kPanelRows, or what is left for the last.
  int32_t panel_rows(int32_t panel) const { return std::min(kPanelRows, row_count - panel * kPanelRows); }
  int64_t panel_bytes() const;
  bool is_quantized() const { return engine::is_quantized(type); }
};

/// Packs the rows of one of the part's panels, stored one after the other, to `target` [part.panel_bytes()].
void pack_panel(const PackedPart& part, std::span<const std::byte> rows, std::byte* target);

/// Decodes row `row` of the part, exactly as dequantize() would from the stored tensor, to out[part.length].
void unpack_row(const PackedPart& part, int32_t row, std::span<float> out);

}  // namespace sluice::engine::cpu
