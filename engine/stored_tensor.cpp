#include "engine/stored_tensor.h"

#include <limits>
#include <string>

#include "base/check.h"

namespace sluice::engine {

int64_t StoredTensor::row_count() const {
  int64_t rows = 1;
  for (size_t i = 1; i < shape.size(); ++i) rows *= shape[i];
  return rows;
}

std::span<const std::byte> StoredTensor::read_rows(int64_t first, int64_t count, std::vector<std::byte>& made) const {
  SLUICE_CHECK(first >= 0 && count > 0 && first + count <= row_count());
  const int64_t row_bytes = tensor_bytes(type, row_length());
  const auto size = static_cast<size_t>(count * row_bytes);
  if (maker == nullptr) return data.subspan(static_cast<size_t>(first * row_bytes), size);
  if (made.size() < size) made.resize(size);
  const std::span<std::byte> rows(made.data(), size);
  maker->make_rows(first_made_row + first, rows);
  return rows;
}

StoredTensor StoredTensor::rows(int64_t first, int64_t count) const {
  SLUICE_CHECK(first >= 0 && count > 0 && first + count <= row_count());
  StoredTensor part = *this;
  part.shape = {row_length(), count};
  part.first_made_row += first;
  if (maker != nullptr) return part;
  const int64_t row_bytes = tensor_bytes(type, row_length());
  part.data = data.subspan(static_cast<size_t>(first * row_bytes), static_cast<size_t>(count * row_bytes));
  return part;
}

Status StoredTensor::check_is_matrix(int64_t length) const {
  const std::string text(name);
  if (shape.size() != 2) return invalid_argument("tensor " + text + " is not a matrix");
  if (row_length() != length)
    return invalid_argument("tensor " + text + " has rows of another length than its neighbour");
  constexpr int64_t kRowsMax = std::numeric_limits<int32_t>::max() / 4;
  if (row_length() > kRowsMax || row_count() > kRowsMax) return invalid_argument("tensor " + text + " is too large");
  return {};
}

}  // namespace sluice::engine
