#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/checkpoint.h"
#include "engine/synthetic_weights.h"

namespace sluice::engine {

/// Whether a model's path means a SyntheticCheckpoint.
bool is_synthetic_path(std::string_view path);

/// A model of random weights, to measure speed without a checkpoint: "synthetic:PRESET", or "synthetic:PATH" with a
/// config.json that a Hugging Face folder could have. ":TYPE" at the end says how matrices are stored, as in ":q4_0";
/// without it they are BF16. Nothing is kept but the configuration: rows are made as they are read.
class SyntheticCheckpoint final : public Checkpoint {
 public:
  /// Errors are one line that names the presets or types there are, or file and key.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path);

  SyntheticCheckpoint(ModelConfig config, SyntheticWeights weights)
      : config_(std::move(config)), weights_(std::move(weights)) {}

  const TensorSource& tensors() const override { return weights_; }
  Result<ModelConfig> config() const override { return config_; }
  Result<std::unique_ptr<Tokenizer>> tokenizer() const override;
  Result<ChatTemplate> chat_template() const override;

 private:
  ModelConfig config_;
  SyntheticWeights weights_;
};

}  // namespace sluice::engine
