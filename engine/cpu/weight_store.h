#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/packed_matrix.h"
#include "engine/cpu/thread_pool.h"

namespace sluice::engine::cpu {

/// A weight matrix [row_count, length] of one part per tensor.
struct PackedMatrix {
  std::vector<PackedPart> parts;
  int32_t row_count = 0;
  int32_t length = 0;
  int32_t panel_count = 0;     ///< of all parts
  bool has_quantized = false;  ///< some part has quantised weights
  bool has_float = false;      ///< some part has float weights
};

/// All weights of a model, packed, in a few large allocations. Filled at load time, read-only after.
class WeightStore {
 public:
  /// Copies and packs the tensors, in parallel over panels.
  Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts, ThreadPool& pool);
  VectorId add_vector(std::vector<float> values);

  const PackedMatrix& matrix(MatrixId id) const { return matrices_.at(static_cast<size_t>(id.index)); }
  /// Where the matrices lie, in order.
  std::vector<std::span<const std::byte>> matrix_memory() const;
  std::span<const float> vector(VectorId id) const { return vectors_.at(static_cast<size_t>(id.index)); }

 private:
  Result<std::byte*> allocate(int64_t bytes);
  static void pack(const StoredTensor& tensor, const PackedPart& part, std::byte* panels, ThreadPool& pool);

  std::vector<HugeBuffer> slabs_;
  size_t slab_used_ = 0;  // bytes of the last slab
  std::vector<PackedMatrix> matrices_;
  std::vector<std::vector<float>> vectors_;
};

}  // namespace sluice::engine::cpu
