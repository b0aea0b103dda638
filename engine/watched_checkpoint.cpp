#include "engine/watched_checkpoint.h"

namespace sluice::engine {

const StoredTensor* WatchedTensors::find_tensor(std::string_view name) const {
  const StoredTensor* const tensor = source_.find_tensor(name);
  if (tensor != nullptr && found_.emplace(name).second) found_bytes_ += tensor->bytes();
  return tensor;
}

int64_t stored_bytes(const TensorSource& source) {
  int64_t bytes = 0;
  for (const StoredTensor& tensor : source.tensors()) bytes += tensor.bytes();
  return bytes;
}

}  // namespace sluice::engine
