#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/random_recipe.h"
#include "engine/tensor_type.h"

namespace sluice::engine {

class MappedFile;

/// Makes the rows of tensors that lie in no file, whenever somebody reads them. Thread-safe.
class RowMaker {
 public:
  virtual ~RowMaker() = default;

  /// Rows from `first` on, as many as `rows` has room for. The same every time.
  virtual void make_rows(int64_t first, std::span<std::byte> rows) const = 0;
  /// How a device can make the same rows; it lends what the maker has. nullopt where only make_rows() can.
  virtual std::optional<RandomRecipe> recipe() const { return std::nullopt; }
};

/// A tensor as it lies in a model's files, or as it is made. Lent by whoever opened them.
struct StoredTensor {
  std::string_view name;
  TensorType type = TensorType::kF32;
  /// shape[0] is the contiguous (input) dimension, as GGUF has it; 1 to 4 entries, all > 0.
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  ///< its size is exactly that of the shape; empty where rows are made
  /// Lent: the file that the data lies in, which can be read without the mapping and given back with
  /// MappedFile::drop_pages(); nullptr where it lies elsewhere.
  const MappedFile* file = nullptr;
  const RowMaker* maker = nullptr;  ///< lent; nullptr for a tensor of files
  int64_t first_made_row = 0;       ///< the first of its rows, as the maker counts

  int64_t row_length() const { return shape[0]; }
  int64_t row_count() const;
  int64_t bytes() const { return tensor_bytes(type, row_length() * row_count()); }

  /// INVALID_ARGUMENT names the tensor unless it is a matrix with rows of `length` that a backend can count with int32.
  Status check_is_matrix(int64_t length) const;

  /// The bytes of rows [first, first + count), which exist: a part of `data`, or they are made in `made`.
  std::span<const std::byte> read_rows(int64_t first, int64_t count, std::vector<std::byte>& made) const;
  /// Rows [first, first + count), which exist, as a matrix of their own.
  StoredTensor rows(int64_t first, int64_t count) const;
};

}  // namespace sluice::engine
