#pragma once

#include <functional>
#include <set>
#include <string>

#include "engine/checkpoint.h"

namespace sluice::engine {

/// Told of each piece of a model that has been taken over: bytes of its tensors so far.
using LoadWatch = std::function<void(int64_t bytes)>;

/// Tensors of another source, whose taking is told. One thread.
class WatchedTensors final : public TensorSource {
 public:
  /// The source is lent.
  WatchedTensors(const TensorSource& source, LoadWatch watch) : source_(source), watch_(std::move(watch)) {}

  const std::string& path() const override { return source_.path(); }
  std::span<const StoredTensor> tensors() const override { return source_.tensors(); }
  const StoredTensor* find_tensor(std::string_view name) const override;
  std::string spelling(std::string_view name) const override { return source_.spelling(name); }
  void drop_pages() const override { source_.drop_pages(); }
  void tell_unread(int64_t bytes) const override { watch_(found_bytes_ - bytes); }

 private:
  const TensorSource& source_;
  LoadWatch watch_;
  mutable std::set<std::string, std::less<>> found_;
  mutable int64_t found_bytes_ = 0;
};

/// A checkpoint whose loading is watched. The other one is lent.
class WatchedCheckpoint final : public Checkpoint {
 public:
  WatchedCheckpoint(const Checkpoint& checkpoint, LoadWatch watch)
      : checkpoint_(checkpoint), tensors_(checkpoint.tensors(), std::move(watch)) {}

  const TensorSource& tensors() const override { return tensors_; }
  Result<ModelConfig> config() const override { return checkpoint_.config(); }
  Result<std::unique_ptr<Tokenizer>> tokenizer() const override { return checkpoint_.tokenizer(); }
  Result<ChatTemplate> chat_template() const override { return checkpoint_.chat_template(); }

 private:
  const Checkpoint& checkpoint_;
  WatchedTensors tensors_;
};

/// Bytes of all tensors.
int64_t stored_bytes(const TensorSource& source);

}  // namespace sluice::engine
