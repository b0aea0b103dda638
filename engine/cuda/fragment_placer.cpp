#include "engine/cuda/fragment_placer.h"

#include <algorithm>
#include <string>

#include "engine/cuda/weight_conversion.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {

Status FragmentPlacer::prepare(std::span<const WeightPiece> pieces) {
  int64_t bytes = stored_.bytes();
  for (const WeightPiece& piece : pieces) {
    for (const WeightFragment& fragment : piece.fragments) {
      if (!is_at_once(*fragment.copy)) bytes = std::max(bytes, fragment.bytes);
    }
  }
  if (bytes == stored_.bytes()) return {};
  SLUICE_ASSIGN_OR_RETURN(stored_, DeviceBuffer::allocate(device_, bytes, "weights to be converted"));
  return {};
}

/// Whether the bytes are on the device as they are stored.
bool FragmentPlacer::is_at_once(const WeightCopy& copy) const {
  return copy.keeps_bytes || is_stored_as(copy.tensor.type, element_);
}

std::byte* FragmentPlacer::destination(const WeightFragment& fragment) const {
  if (is_at_once(*fragment.copy)) return fragment.copy->to + fragment.first_byte;
  const TensorTypeTraits traits = traits_of(fragment.copy->tensor.type);
  const int64_t first = fragment.first_byte / traits.block_bytes * traits.block_elements;
  return fragment.copy->to + first * element_bytes(element_);
}

std::byte* FragmentPlacer::room(const WeightFragment& fragment) const {
  return is_at_once(*fragment.copy) ? destination(fragment) : stored_.as<std::byte>();
}

Status FragmentPlacer::place(const WeightFragment& fragment) {
  if (is_at_once(*fragment.copy)) return {};
  const StoredTensor& tensor = fragment.copy->tensor;
  const TensorTypeTraits traits = traits_of(tensor.type);
  const StoredElements stored{.type = tensor.type,
                              .data = stored_.as<void>(),
                              .count = fragment.bytes / traits.block_bytes * traits.block_elements};
  const int32_t code = launch_weight_conversion(stored, element_, destination(fragment), device_.stream());
  if (code == 0) return {};
  return internal_error("converting " + std::string(tensor.name) + ": CUDA error " + std::to_string(code));
}

}  // namespace sluice::engine::cuda
