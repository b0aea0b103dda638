#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/checkpoint.h"
#include "engine/hf_config.h"
#include "engine/hf_weights.h"

namespace sluice::engine {

/// A model in a Hugging Face folder: config.json, generation_config.json where there is one, and safetensors.
class HfCheckpoint final : public Checkpoint {
 public:
  /// Errors name the file in the folder and what is wrong with it on one line.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& folder);

  HfCheckpoint(std::string folder, ModelConfig config, HfWeights weights)
      : folder_(std::move(folder)), config_(std::move(config)), weights_(std::move(weights)) {}

  const TensorSource& tensors() const override { return weights_; }
  Result<ModelConfig> config() const override { return config_; }
  Result<std::unique_ptr<Tokenizer>> tokenizer() const override;
  Result<ChatTemplate> chat_template() const override;

 private:
  std::string folder_;
  ModelConfig config_;
  HfWeights weights_;
};

}  // namespace sluice::engine
