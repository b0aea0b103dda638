#include "engine/cuda/device_weights.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "engine/mapped_file.h"
#include "engine/stored_tensor.h"
#include "engine/tensor_type.h"

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
    SLUICE_RETURN_IF_ERROR(copy_rows(*tensor, to));
    to += tensor->row_count() * row_bytes;
  }
  matrices_.push_back(std::move(matrix));
  return MatrixId{static_cast<int32_t>(matrices_.size()) - 1};
}

// In runs, so that of a large tensor only a part is in this machine's memory.
Status DeviceWeights::copy_rows(const StoredTensor& tensor, std::byte* to) {
  constexpr int64_t kRunElements = int64_t{4} << 20;
  const int64_t length = tensor.row_length();
  const int64_t run = std::max<int64_t>(kRunElements / length, 1);
  std::vector<std::byte> made;
  std::vector<float> values;
  std::vector<uint16_t> halves;
  for (int64_t first = 0; first < tensor.row_count(); first += run) {
    const int64_t rows = std::min(run, tensor.row_count() - first);
    const std::span<const std::byte> stored = tensor.read_rows(first, rows, made);
    values.resize(static_cast<size_t>(rows * length));
    dequantize(tensor.type, stored, values);
    const void* from = values.data();
    if (element_ == Element::kBf16) {
      halves.resize(values.size());
      std::transform(values.begin(), values.end(), halves.begin(), float_to_bf16);
      from = halves.data();
    }
    const int64_t bytes = rows * length * element_bytes(element_);
    SLUICE_RETURN_IF_ERROR(device_.copy_in(to, from, bytes));
    to += bytes;
    if (tensor.file != nullptr) MappedFile::drop_pages(stored);
  }
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
