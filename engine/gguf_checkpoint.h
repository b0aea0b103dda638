#pragma once

#include <utility>

#include "engine/checkpoint.h"
#include "engine/gguf.h"

namespace sluice::engine {

/// A model in a GGUF file.
class GgufCheckpoint final : public Checkpoint {
 public:
  explicit GgufCheckpoint(GgufFile file) : file_(std::move(file)) {}

  const TensorSource& tensors() const override { return file_; }
  Result<ModelConfig> config() const override { return ModelConfig::from_gguf(file_); }
  Result<std::unique_ptr<Tokenizer>> tokenizer() const override { return Tokenizer::from_gguf(file_); }
  Result<ChatTemplate> chat_template() const override { return ChatTemplate::from_gguf(file_); }

 private:
  GgufFile file_;
};

}  // namespace sluice::engine
