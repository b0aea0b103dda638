#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/tensor_type.h"

namespace sluice::engine {

/// A tensor as it lies in a model's files. Lent by whoever opened them.
struct StoredTensor {
  std::string_view name;
  TensorType type = TensorType::kF32;
  /// shape[0] is the contiguous (input) dimension, as GGUF has it; 1 to 4 entries, all > 0.
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  ///< its size is exactly that of the shape
  /// The data lies in a MappedFile: what was read of it can be given back with MappedFile::drop_pages().
  bool is_mapped = false;

  int64_t row_length() const { return shape[0]; }
  int64_t row_count() const;

  /// Rows [first, first + count), which exist, as a matrix of their own.
  StoredTensor rows(int64_t first, int64_t count) const;
};

}  // namespace sluice::engine
