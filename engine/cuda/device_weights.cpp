#include "engine/cuda/device_weights.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "engine/stored_tensor.h"

namespace sluice::engine::cuda {

Result<MatrixId> DeviceWeights::add_matrix(std::span<const StoredTensor* const> parts) {
  DeviceMatrix matrix;
  matrix.length = static_cast<int32_t>(parts.front()->row_length());
  matrix.parts = static_cast<int32_t>(parts.size());
  int64_t rows = 0;
  for (const StoredTensor* tensor : parts) {
    SLUICE_RETURN_IF_ERROR(tensor->check_is_matrix(matrix.length));
    rows += tensor->row_count();
  }
  if (rows > std::numeric_limits<int32_t>::max()) return invalid_argument("a matrix has too many rows");
  matrix.rows = static_cast<int32_t>(rows);
  const int64_t row_bytes = matrix.length * element_bytes(element_);
  SLUICE_ASSIGN_OR_RETURN(matrix.elements, DeviceBuffer::allocate(device_, rows * row_bytes, "weights"));
  auto* to = matrix.elements.as<std::byte>();
  for (const StoredTensor* tensor : parts) {
    unread_.push_back({.tensor = *tensor, .to = to});
    unread_bytes_ += tensor->bytes();
    to += tensor->row_count() * row_bytes;
  }
  matrices_.push_back(std::move(matrix));
  return MatrixId{static_cast<int32_t>(matrices_.size()) - 1};
}

Status DeviceWeights::finish(const UnreadWatch& watch) {
  SLUICE_RETURN_IF_ERROR(load_weights(device_, element_, unread_, loading_, [&](int64_t bytes) {
    unread_bytes_ = bytes;
    watch(bytes);
  }));
  SLUICE_CHECK(unread_bytes_ == 0);
  unread_.clear();
  return {};
}

int64_t DeviceWeights::bytes() const {
  int64_t bytes = 0;
  for (const DeviceMatrix& matrix : matrices_) bytes += matrix.elements.bytes();
  for (const DeviceVector& vector : vectors_) bytes += vector.values.bytes();
  return bytes;
}

Result<VectorId> DeviceWeights::add_vector(std::span<const float> values) {
  DeviceVector vector;
  vector.length = static_cast<int32_t>(values.size());
  const auto bytes = static_cast<int64_t>(values.size_bytes());
  SLUICE_ASSIGN_OR_RETURN(vector.values, DeviceBuffer::allocate(device_, bytes, "weights"));
  SLUICE_RETURN_IF_ERROR(device_.copy_in(vector.values.as<void>(), values.data(), bytes));
  vectors_.push_back(std::move(vector));
  return VectorId{static_cast<int32_t>(vectors_.size()) - 1};
}

}  // namespace sluice::engine::cuda
