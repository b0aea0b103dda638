#include "engine/cuda/packed_arrays.h"

#include <algorithm>

namespace sluice::engine::cuda {

Status PackedArrays::upload() {
  const auto bytes = static_cast<int64_t>(staged_.size());
  if (bytes == 0) return {};
  if (bytes > memory_.bytes()) {
    const int64_t wanted = std::max(bytes, 2 * memory_.bytes());
    memory_ = DeviceBuffer();
    SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device_, wanted, purpose_));
  }
  return device_.copy_in(memory_.as<void>(), staged_.data(), bytes);
}

}  // namespace sluice::engine::cuda
