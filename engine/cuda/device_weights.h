#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/device.h"
#include "engine/cuda/weight_loader.h"
#include "engine/cuda/weight_pieces.h"

namespace sluice::engine::cuda {

struct DeviceMatrix {
  int32_t rows = 0;
  int32_t length = 0;
  int32_t parts = 0;      ///< tensors that it is made of
  DeviceBuffer elements;  // [rows, length]
};

struct DeviceVector {
  int32_t length = 0;
  DeviceBuffer values;  // float [length]
};

/// A model's weights in device memory, all matrices of one element type whatever the files keep them in. Matrices have
/// their memory when they are added and their elements when finish() returns: files are read in their own order, once
/// all that is wanted of them is known.
class DeviceWeights {
 public:
  /// The device outlives it.
  DeviceWeights(Device& device, Element element, const WeightLoaderOptions& loading = {})
      : device_(device), element_(element), loading_(loading) {}

  /// The tensors one below the other; what they lend outlives finish(). INVALID_ARGUMENT for one that is no matrix or
  /// has another row length than the first, RESOURCE_EXHAUSTED when the device is full.
  Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts);
  Result<VectorId> add_vector(std::span<const float> values);
  /// Bytes of added tensors that are still to be read.
  int64_t unread_bytes() const { return unread_bytes_; }
  /// Reads them; see load_weights().
  Status finish(const UnreadWatch& watch);

  const DeviceMatrix& matrix(MatrixId id) const { return matrices_.at(static_cast<size_t>(id.index)); }
  const DeviceVector& vector(VectorId id) const { return vectors_.at(static_cast<size_t>(id.index)); }
  /// nullptr for an id that names none.
  const float* values_of(VectorId id) const { return id.exists() ? vector(id).values.as<const float>() : nullptr; }
  Element element() const { return element_; }
  int64_t bytes() const;

 private:
  Device& device_;
  const Element element_;
  const WeightLoaderOptions loading_;
  std::vector<DeviceMatrix> matrices_;
  std::vector<DeviceVector> vectors_;
  std::vector<WeightCopy> unread_;
  int64_t unread_bytes_ = 0;
};

}  // namespace sluice::engine::cuda
