#include "engine/stored_tensor.h"

#include "base/check.h"

namespace sluice::engine {

int64_t StoredTensor::row_count() const {
  int64_t rows = 1;
  for (size_t i = 1; i < shape.size(); ++i) rows *= shape[i];
  return rows;
}

StoredTensor StoredTensor::rows(int64_t first, int64_t count) const {
  SLUICE_CHECK(first >= 0 && count > 0 && first + count <= row_count());
  const int64_t row_bytes = tensor_bytes(type, row_length());
  return {.name = name,
          .type = type,
          .shape = {row_length(), count},
          .data = data.subspan(static_cast<size_t>(first * row_bytes), static_cast<size_t>(count * row_bytes)),
          .is_mapped = is_mapped};
}

}  // namespace sluice::engine
