#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

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
  std::string name() const {
    return "step: " + std::to_string(decode_rows) + " decode rows, context " + std::to_string(decode_context) + ", " +
           std::to_string(tokens - decode_rows) + " prompt tokens";
  }
};

}  // namespace sluice::engine::cuda
