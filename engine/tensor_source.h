#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/stored_tensor.h"

namespace sluice::engine {

/// The weights of a model, under the names that GGUF gives them ("blk.0.attn_q.weight"), whatever files they come from.
/// Everything it hands out lives as long as it does.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  /// The file or folder, for messages.
  virtual const std::string& path() const = 0;
  /// In the files' order. A tensor that GGUF has no name for keeps its own.
  virtual std::span<const StoredTensor> tensors() const = 0;
  /// nullptr when there is no such tensor.
  virtual const StoredTensor* find_tensor(std::string_view name) const = 0;
  /// What the files call the tensor of that name, or would call it; for messages.
  virtual std::string spelling(std::string_view name) const = 0;

  /// Gives back the memory of what was read so far; data that is looked at again is read again.
  virtual void drop_pages() const = 0;
  /// All tensors found so far have been read but for so many bytes; for whoever watches a load.
  virtual void tell_unread(int64_t bytes) const { static_cast<void>(bytes); }
};

}  // namespace sluice::engine
