#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/chat_template.h"
#include "engine/model_config.h"
#include "engine/tensor_source.h"
#include "engine/tokenizer.h"

namespace sluice::engine {

/// A model's files, opened and checked, whatever their format. Thread-safe once open.
class Checkpoint {
 public:
  /// A GGUF file, any part of a split one, a Hugging Face folder, or a model of random weights
  /// (synthetic_checkpoint.h). Errors name the file and what is wrong with it on one line.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path);

  virtual ~Checkpoint() = default;

  virtual const TensorSource& tensors() const = 0;
  /// See ModelConfig.
  virtual Result<ModelConfig> config() const = 0;
  /// Keeps nothing of the files.
  virtual Result<std::unique_ptr<Tokenizer>> tokenizer() const = 0;
  /// NOT_FOUND when there is none. Keeps nothing of the files.
  virtual Result<ChatTemplate> chat_template() const = 0;
};

}  // namespace sluice::engine
