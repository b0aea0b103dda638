#include "engine/cpu/weight_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/mapped_file.h"
#include "engine/stored_tensor.h"

namespace sluice::engine::cpu {
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

// In runs, so that of a large tensor only a part is in memory beside its packed rows.
void WeightStore::pack(const StoredTensor& tensor, const PackedPart& part, std::byte* panels, ThreadPool& pool) {
  constexpr int64_t kRunBytes = int64_t{32} << 20;
  const int64_t row_bytes = tensor_bytes(tensor.type, tensor.row_length());
  const auto run = static_cast<int32_t>(std::max<int64_t>(kRunBytes / (row_bytes * kPanelRows), 1));
  for (int32_t begin = 0; begin < part.panel_count(); begin += run) {
    const int32_t count = std::min(run, part.panel_count() - begin);
    pool.run([&](ThreadPool::Worker& worker) {
      std::vector<std::byte> made;
      worker.for_each(count, 8, [&](int32_t i) {
        const int32_t panel = begin + i;
        const auto rows = tensor.read_rows(int64_t{panel} * kPanelRows, part.panel_rows(panel), made);
        pack_panel(part, rows, panels + panel * part.panel_bytes());
      });
    });
    if (tensor.file == nullptr) continue;
    const int64_t first_row = int64_t{begin} * kPanelRows;
    const int64_t rows = std::min<int64_t>(int64_t{count} * kPanelRows, tensor.row_count() - first_row);
    MappedFile::drop_pages(tensor.rows(first_row, rows).data);
  }
}

Result<MatrixId> WeightStore::add_matrix(std::span<const StoredTensor* const> parts, ThreadPool& pool) {
  PackedMatrix matrix;
  matrix.length = static_cast<int32_t>(parts.front()->row_length());
  for (const StoredTensor* tensor : parts) {
    SLUICE_RETURN_IF_ERROR(tensor->check_is_matrix(matrix.length));
    PackedPart part{.type = tensor->type,
                    .row_begin = matrix.row_count,
                    .row_count = static_cast<int32_t>(tensor->row_count()),
                    .length = matrix.length};
    SLUICE_ASSIGN_OR_RETURN(std::byte * panels, allocate(part.panel_count() * part.panel_bytes()));
    pack(*tensor, part, panels, pool);
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

VectorId WeightStore::add_vector(std::vector<float> values) {
  vectors_.push_back(std::move(values));
  return VectorId{static_cast<int32_t>(vectors_.size()) - 1};
}

}  // namespace sluice::engine::cpu
