#include "engine/stored_tensor.h"

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

}  // namespace sluice::engine
