#include "engine/cpu/weight_store.h"

#include <algorithm>
#include <limits>
#include <string>

#include "engine/gguf.h"

namespace sluice::engine::cpu {
namespace {

bool is_float(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBf16;
}

Status check_matrix_part(const GgufTensor& tensor, int64_t length) {
  const std::string name(tensor.name);
  if (tensor.shape.size() != 2) return invalid_argument("tensor " + name + " is not a matrix");
  if (tensor.row_length() != length)
    return invalid_argument("tensor " + name + " has rows of another length than its neighbour");
  constexpr int64_t kRowsMax = std::numeric_limits<int32_t>::max() / 4;
  if (tensor.row_length() > kRowsMax || tensor.row_count() > kRowsMax) {
    return invalid_argument("tensor " + name + " is too large");
  }
  return Status();
}

}  // namespace

Result<std::byte*> WeightStore::allocate(int64_t bytes) {
  constexpr size_t kSlabBytes = size_t{64} << 20;
  // Kernels prefetch a little past the end of what they read; harmless, but whole cache lines keep panels from sharing
  // one.
  const size_t wanted = (static_cast<size_t>(bytes) + 63) / 64 * 64;
  if (slabs_.empty() || slabs_.back().size() - slab_used_ < wanted) {
    SLUICE_ASSIGN_OR_RETURN(HugeBuffer slab, HugeBuffer::allocate(std::max(wanted, kSlabBytes), "weights"));
    slabs_.push_back(std::move(slab));
    slab_used_ = 0;
  }
  std::byte* begin = slabs_.back().as<std::byte>() + slab_used_;
  slab_used_ += wanted;
  return begin;
}

Result<MatrixId> WeightStore::add_matrix(std::span<const GgufTensor* const> parts, ThreadPool& pool) {
  PackedMatrix matrix;
  matrix.length = static_cast<int32_t>(parts.front()->row_length());
  for (const GgufTensor* tensor : parts) {
    SLUICE_RETURN_IF_ERROR(check_matrix_part(*tensor, matrix.length));
    PackedPart part{.type = tensor->type,
                    .row_begin = matrix.row_count,
                    .row_count = static_cast<int32_t>(tensor->row_count()),
                    .length = matrix.length};
    SLUICE_ASSIGN_OR_RETURN(std::byte * panels, allocate(part.panel_count() * part.panel_bytes()));
    pool.run([&](ThreadPool::Worker& worker) {
      worker.for_each(part.panel_count(), 8, [&](int32_t panel) {
        pack_panel(part, tensor->data, panel, panels + panel * part.panel_bytes());
      });
    });
    part.panels = panels;
    matrix.row_count += part.row_count;
    matrix.panel_count += part.panel_count();
    (part.is_quantized() ? matrix.has_quantized : matrix.has_float) = true;
    matrix.parts.push_back(part);
  }
  matrices_.push_back(std::move(matrix));
  return MatrixId{static_cast<int32_t>(matrices_.size()) - 1};
}

std::vector<std::span<const std::byte>> WeightStore::matrix_memory() const {
  std::vector<std::span<const std::byte>> memory;
  for (const PackedMatrix& matrix : matrices_) {
    for (const PackedPart& part : matrix.parts)
      memory.emplace_back(part.panels, static_cast<size_t>(part.panel_count() * part.panel_bytes()));
  }
  return memory;
}

Result<VectorId> WeightStore::add_vector(std::span<const GgufTensor* const> parts) {
  std::vector<float> values;
  for (const GgufTensor* tensor : parts) {
    if (!is_float(tensor->type)) {
      return invalid_argument("tensor " + std::string(tensor->name) + " has type " +
                              std::string(tensor_type_name(tensor->type)) + "; only F32, F16 and BF16 work here");
    }
    std::vector<float> piece(static_cast<size_t>(tensor->row_length() * tensor->row_count()));
    dequantize(tensor->type, tensor->data, piece);
    values.insert(values.end(), piece.begin(), piece.end());
  }
  vectors_.push_back(std::move(values));
  return VectorId{static_cast<int32_t>(vectors_.size()) - 1};
}

}  // namespace sluice::engine::cpu
