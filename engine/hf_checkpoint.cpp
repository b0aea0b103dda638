#include "engine/hf_checkpoint.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "engine/fitted_tokenizer.h"
#include "engine/json_file.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

constexpr uint64_t kConfigBytesMax = uint64_t{4} << 20U;

/// What people call a folder: "/models/smollm2/" is "smollm2".
std::string folder_name(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, error);
  const std::filesystem::path path = error ? std::filesystem::path(folder) : whole;
  return printable_name(path.filename().string());
}

Result<HfConfig> read_config(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "config.json").string();
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json document, read_json_file(path, kConfigBytesMax));
  SLUICE_ASSIGN_OR_RETURN(HfConfig config, read_hf_config(document, path, folder_name(folder)));
  const std::string generation_path = (std::filesystem::path(folder) / "generation_config.json").string();
  const Result<nlohmann::json> generation = read_json_file(generation_path, kConfigBytesMax);
  if (generation.status().code() == StatusCode::kNotFound) return config;
  SLUICE_RETURN_IF_ERROR(generation.status());
  SLUICE_RETURN_IF_ERROR(add_generation_ends(*generation, generation_path, config.model));
  return config;
}

/// One output matrix, as transformers has it: where the embedding is to be used and another one is stored all the same,
/// the stored one counts.
Status settle_output(const HfConfig& config, const std::string& folder, HfWeights& weights) {
  if (config.ties_embeddings) {
    weights.drop_equal_output();
    return Status();
  }
  if (weights.find_tensor("output.weight") != nullptr) return Status();
  return invalid_argument(folder + ": tensor " + weights.spelling("output.weight") +
                          " is missing, and tie_word_embeddings of config.json is not true");
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> HfCheckpoint::open(const std::string& folder) {
  SLUICE_ASSIGN_OR_RETURN(HfConfig config, read_config(folder));
  SLUICE_ASSIGN_OR_RETURN(HfWeights weights, HfWeights::open(folder, HfNames(config.model_type)));
  SLUICE_RETURN_IF_ERROR(settle_output(config, folder, weights));
  return std::unique_ptr<Checkpoint>(
      std::make_unique<HfCheckpoint>(folder, std::move(config.model), std::move(weights)));
}

Result<std::unique_ptr<Tokenizer>> HfCheckpoint::tokenizer() const {
  SLUICE_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::from_folder(folder_));
  return std::unique_ptr<Tokenizer>(
      std::make_unique<FittedTokenizer>(std::move(tokenizer), config_.vocab_size, config_.end_ids));
}

Result<ChatTemplate> HfCheckpoint::chat_template() const {
  return ChatTemplate::from_folder(folder_);
}

}  // namespace sluice::engine
