#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "engine/model_config.h"

namespace sluice::engine {

/// What a Hugging Face folder's config.json says.
struct HfConfig {
  std::string model_type;
  ModelConfig model;
  bool ties_embeddings = false;  ///< the embedding is the output matrix
};

/// Reads config.json of model_type llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, phi3, gemma3_text, or gemma3 for
/// its text part. What a file leaves out has the default of transformers' configuration class where files are known to
/// leave it out, and is missed otherwise. Everything that changes what a model computes and that nothing here computes
/// is refused by name. `path` is the file's, for messages; `name` becomes the model's.
Result<HfConfig> read_hf_config(const nlohmann::json& document, const std::string& path, const std::string& name);

/// Adds the ends of generation_config.json to those of config.json.
Status add_generation_ends(const nlohmann::json& document, const std::string& path, ModelConfig& config);

}  // namespace sluice::engine
