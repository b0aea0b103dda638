#include "engine/cuda/device_weights.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/cuda/weight_conversion.h"
#include "engine/quant_scheme.h"
#include "engine/stored_tensor.h"

namespace sluice::engine::cuda {
namespace {

/// The quantised type of all of them, in whole blocks to a row.
std::optional<TensorType> common_blocks(std::span<const StoredTensor* const> parts) {
  const TensorType type = parts.front()->type;
  const bool is_whole = parts.front()->row_length() % traits_of(type).block_elements == 0;
  const bool is_one = std::ranges::all_of(parts, [type](const StoredTensor* part) { return part->type == type; });
  return is_quantized(type) && is_whole && is_one ? std::optional(type) : std::nullopt;
}

/// What the loader makes of elements that are to become these.
Element loaded_as(Element element) {
  return element == Element::kFp8 ? Element::kBf16 : element;
}

}  // namespace

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
  SLUICE_RETURN_IF_ERROR(device_.check_products(form_.element));
  matrix.rows = static_cast<int32_t>(rows);
  matrix.element = form_.element;
  if (form_.keeps_blocks) matrix.blocks = common_blocks(parts);
  const bool is_odd = rows % kFp8Multiple != 0 || matrix.length % kFp8Multiple != 0;
  if (matrix.blocks || is_odd) matrix.element = loaded_as(matrix.element);
  Unread& unread = unread_.emplace_back();
  unread.matrix = matrices_.size();
  for (const StoredTensor* tensor : parts) {
    unread.parts.push_back(*tensor);
    unread_bytes_ += tensor->bytes();
  }
  matrices_.push_back(std::move(matrix));
  return MatrixId{static_cast<int32_t>(matrices_.size()) - 1};
}

void DeviceWeights::keep_unrounded(MatrixId id) {
  DeviceMatrix& matrix = matrices_.at(static_cast<size_t>(id.index));
  matrix.element = loaded_as(matrix.element);
  matrix.blocks.reset();
}

Status DeviceWeights::allocate() {
  for (DeviceMatrix& matrix : matrices_) {
    SLUICE_ASSIGN_OR_RETURN(matrix.elements, DeviceBuffer::allocate(device_, matrix.kept_bytes(), "weights"));
    if (matrix.element != Element::kFp8) continue;
    SLUICE_ASSIGN_OR_RETURN(matrix.scales, DeviceBuffer::allocate(device_, matrix.scale_bytes(), "weights"));
  }
  return {};
}

namespace {

/// The tensors of a matrix one below the other, from `to` on.
void add_copies(std::span<const StoredTensor> parts, const DeviceMatrix& matrix, std::byte* to,
                std::vector<WeightCopy>& copies) {
  for (const StoredTensor& tensor : parts) {
    copies.push_back({.tensor = tensor, .to = to, .keeps_bytes = matrix.blocks.has_value()});
    const int64_t elements = tensor.row_count() * tensor.row_length();
    to += matrix.blocks ? tensor.bytes() : elements * element_bytes(loaded_as(matrix.element));
  }
}

int64_t bf16_bytes(const DeviceMatrix& matrix) {
  return int64_t{matrix.rows} * matrix.length * element_bytes(Element::kBf16);
}

/// Of matrices on their way to fp8, unless one alone takes more.
constexpr int64_t kStagingBytesMax = int64_t{1} << 30;

}  // namespace

Status DeviceWeights::finish(const UnreadWatch& watch) {
  const auto is_rounded = [&](const Unread& unread) { return matrices_[unread.matrix].element == Element::kFp8; };
  const auto rounded = std::stable_partition(unread_.begin(), unread_.end(), [&](auto& u) { return !is_rounded(u); });
  std::vector<WeightCopy> copies;
  for (const Unread& unread : std::span(unread_.begin(), rounded)) {
    const DeviceMatrix& matrix = matrices_[unread.matrix];
    add_copies(unread.parts, matrix, matrix.elements.as<std::byte>(), copies);
  }
  SLUICE_RETURN_IF_ERROR(load(copies, loaded_as(form_.element), watch));
  DeviceBuffer staging;
  for (auto begin = rounded; begin != unread_.end();) {
    int64_t bytes = 0;
    auto end = begin;
    do {
      bytes += bf16_bytes(matrices_[end++->matrix]);
    } while (end != unread_.end() && bytes + bf16_bytes(matrices_[end->matrix]) <= kStagingBytesMax);
    SLUICE_RETURN_IF_ERROR(load_rounded(std::span(begin, end), staging, watch));
    begin = end;
  }
  SLUICE_CHECK(unread_bytes_ == 0);
  unread_.clear();
  return {};
}

/// Tensors of some matrices.
Status DeviceWeights::load(std::span<const WeightCopy> copies, Element element, const UnreadWatch& watch) {
  if (copies.empty()) return {};
  int64_t bytes = 0;
  for (const WeightCopy& copy : copies) bytes += copy.tensor.bytes();
  const int64_t others = unread_bytes_ - bytes;
  return load_weights(device_, element, copies, loading_, [&](int64_t left) {
    unread_bytes_ = others + left;
    watch(unread_bytes_);
  });
}

/// Matrices of kFp8, by way of bf16: a row's scale is known when all of the row is there, and pieces of files end
/// anywhere.
Status DeviceWeights::load_rounded(std::span<const Unread> group, DeviceBuffer& staging, const UnreadWatch& watch) {
  int64_t bytes = 0;
  for (const Unread& unread : group) bytes += bf16_bytes(matrices_[unread.matrix]);
  if (staging.bytes() < bytes) {
    staging = DeviceBuffer();
    SLUICE_ASSIGN_OR_RETURN(staging, DeviceBuffer::allocate(device_, bytes, "weights to be rounded"));
  }
  std::vector<WeightCopy> copies;
  auto* to = staging.as<std::byte>();
  for (const Unread& unread : group) {
    const DeviceMatrix& matrix = matrices_[unread.matrix];
    add_copies(unread.parts, matrix, to, copies);
    to += bf16_bytes(matrix);
  }
  SLUICE_RETURN_IF_ERROR(load(copies, Element::kBf16, watch));
  auto* from = staging.as<std::byte>();
  for (const Unread& unread : group) {
    const DeviceMatrix& matrix = matrices_[unread.matrix];
    const int32_t code = launch_row_rounding({.from = from,
                                              .to = matrix.elements.as<void>(),
                                              .scales = matrix.scales.as<float>(),
                                              .rows = matrix.rows,
                                              .length = matrix.length},
                                             device_.stream());
    if (code != 0) return internal_error("rounding weights to fp8: CUDA error " + std::to_string(code));
    from += bf16_bytes(matrix);
  }
  return device_.synchronize();
}

int64_t DeviceWeights::bytes() const {
  int64_t bytes = 0;
  for (const DeviceMatrix& matrix : matrices_) bytes += matrix.bytes();
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
