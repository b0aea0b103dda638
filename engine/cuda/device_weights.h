#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/device.h"
#include "engine/cuda/weight_loader.h"
#include "engine/cuda/weight_pieces.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {

struct DeviceMatrix {
  int32_t rows = 0;
  int32_t length = 0;
  int32_t parts = 0;                 ///< tensors that it is made of
  Element element = Element::kBf16;  ///< what products with it take; it is kept so unless it has blocks
  std::optional<TensorType> blocks;  ///< the quantised type that it is kept in
  DeviceBuffer elements;             // [rows, length], or its blocks [rows, length / elements of a block] as files do
  DeviceBuffer scales;               // float [rows] of kFp8, else none

  int64_t kept_bytes() const {
    const int64_t count = int64_t{rows} * length;
    return blocks ? tensor_bytes(*blocks, count) : count * element_bytes(element);
  }
  int64_t scale_bytes() const { return element == Element::kFp8 ? rows * static_cast<int64_t>(sizeof(float)) : 0; }
  int64_t bytes() const { return kept_bytes() + scale_bytes(); }
};

struct DeviceVector {
  int32_t length = 0;
  DeviceBuffer values;  // float [length]
};

/// What matrices are kept in.
struct WeightForm {
  Element element = Element::kBf16;
  /// Those whose tensors are all of one quantised type stay as they are stored, byte for byte, instead. Not those of
  /// several types or of floats, and not those that keep_unrounded() names, also where such a table is the head.
  bool keeps_blocks = false;
};

/// A model's weights in device memory. Matrices have their memory when allocate() returns and their elements when
/// finish() does: files are read in their own order, once all that is wanted of them is known.
///
/// In kFp8 each row is rounded to e4m3 with a scale of its own. Two kinds of matrices stay bf16: those whose rows or
/// length are no multiple of kFp8Multiple, and those that keep_unrounded() names: tables that tokens are looked up in,
/// and experts. A head that is such a table has its products in bf16: a second copy in fp8 would take three bytes an
/// element instead of two, and the head is where rounding shows most.
class DeviceWeights {
 public:
  /// The device outlives it.
  DeviceWeights(Device& device, const WeightForm& form, const WeightLoaderOptions& loading = {})
      : device_(device), form_(form), loading_(loading) {}

  /// The tensors one below the other; what they lend outlives finish(). INVALID_ARGUMENT for one that is no matrix or
  /// has another row length than the first, FAILED_PRECONDITION when the device has no products of the element.
  Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts);
  Result<VectorId> add_vector(std::span<const float> values);
  /// Kernels that aren't products of the device's read the matrix, which keeps its elements for them; told before
  /// allocate().
  void keep_unrounded(MatrixId id);
  /// Once all matrices are added. RESOURCE_EXHAUSTED when the device is full.
  Status allocate();
  /// Bytes of added tensors that are still to be read.
  int64_t unread_bytes() const { return unread_bytes_; }
  /// Reads them; see load_weights().
  Status finish(const UnreadWatch& watch);

  const DeviceMatrix& matrix(MatrixId id) const { return matrices_.at(static_cast<size_t>(id.index)); }
  std::span<const DeviceMatrix> matrices() const { return matrices_; }
  const DeviceVector& vector(VectorId id) const { return vectors_.at(static_cast<size_t>(id.index)); }
  /// nullptr for an id that names none.
  const float* values_of(VectorId id) const { return id.exists() ? vector(id).values.as<const float>() : nullptr; }
  int64_t bytes() const;

 private:
  /// A matrix whose tensors are still to be read.
  struct Unread {
    size_t matrix = 0;
    std::vector<StoredTensor> parts;
  };

  Status load(std::span<const WeightCopy> copies, Element element, const UnreadWatch& watch);
  Status load_rounded(std::span<const Unread> group, DeviceBuffer& staging, const UnreadWatch& watch);

  Device& device_;
  const WeightForm form_;
  const WeightLoaderOptions loading_;
  std::vector<DeviceMatrix> matrices_;
  std::vector<DeviceVector> vectors_;
  std::vector<Unread> unread_;
  int64_t unread_bytes_ = 0;
};

}  // namespace sluice::engine::cuda
