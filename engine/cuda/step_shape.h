#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "engine/batch.h"

namespace sluice::engine::cuda {

/// What of a step decides the grids of its kernels.
struct StepShape {
  int32_t tokens = 0;
  int32_t rows = 0;
  int32_t decode_rows = 0;     ///< the first ones, of a token each
  int32_t decode_context = 0;  ///< tokens of the longest context of a decode row
  int32_t prompt_slice = 0;    ///< tokens of the longest of the other rows

  static StepShape of(const Batch& batch) {
    StepShape shape{.tokens = batch.token_count(), .rows = batch.row_count(), .decode_rows = batch.decode_rows};
    for (int32_t row = 0; row < shape.rows; ++row) {
      const auto at = static_cast<size_t>(row);
      if (row < shape.decode_rows) {
        shape.decode_context = std::max(shape.decode_context, batch.context_lengths[at]);
      } else {
        shape.prompt_slice = std::max(shape.prompt_slice, batch.row_begin[at + 1] - batch.row_begin[at]);
      }
    }
    return shape;
  }

  /// For profiles: "step: 12 decode rows, context 800, 500 prompt tokens".
  std::array<char, 96> name() const {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "step: %d decode rows, context %d, %d prompt tokens", decode_rows,
                  decode_context, tokens - decode_rows);
    return text;
  }
};

}  // namespace sluice::engine::cuda
