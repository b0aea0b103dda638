#include "engine/synthetic_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/json_file.h"
#include "engine/printable_name.h"
#include "engine/quant_scheme.h"
#include "engine/synthetic_presets.h"
#include "engine/synthetic_tokenizer.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kPrefix = "synthetic:";
constexpr std::string_view kFileEnd = ".json";
constexpr uint64_t kConfigBytesMax = uint64_t{4} << 20U;

std::string type_name(TensorType type) {
  std::string name = tensor_type_name(type);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name;
}

std::vector<TensorType> all_types() {
  std::vector<TensorType> types = {TensorType::kBf16, TensorType::kF16, TensorType::kF32};
  types.insert(types.end(), std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  return types;
}

std::optional<TensorType> type_from_name(std::string_view name) {
  for (const TensorType type : all_types()) {
    if (type_name(type) == name) return type;
  }
  return std::nullopt;
}

std::string type_names() {
  std::string names;
  for (const TensorType type : all_types()) names += (names.empty() ? "" : ", ") + type_name(type);
  return names;
}

/// What a path asks for.
struct SyntheticModel {
  std::string shape;  ///< a preset's name, or a file's
  TensorType type = TensorType::kBf16;

  bool is_file() const { return shape.ends_with(kFileEnd); }
};

Result<SyntheticModel> parse_path(const std::string& path) {
  const std::string_view asked = std::string_view(path).substr(kPrefix.size());
  const size_t colon = asked.rfind(':');
  if (colon == std::string_view::npos || asked.ends_with(kFileEnd)) return SyntheticModel{.shape = std::string(asked)};
  const std::optional<TensorType> type = type_from_name(asked.substr(colon + 1));
  if (type) return SyntheticModel{.shape = std::string(asked.substr(0, colon)), .type = *type};
  return invalid_argument(printable_name(path) + ": there is no type " + printable_name(asked.substr(colon + 1)) +
                          "; there are " + type_names());
}

/// Of the folder that a config.json lies in.
std::string folder_name(const std::string& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(file, error);
  return printable_name((error ? std::filesystem::path(file) : whole).parent_path().filename().string());
}

Result<HfConfig> read_file_config(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json document, read_json_file(path, kConfigBytesMax));
  return read_hf_config(document, path, folder_name(path));
}

Result<HfConfig> read_preset(const std::string& name, const std::string& path) {
  const std::optional<std::string_view> preset = synthetic_preset(name);
  if (!preset) {
    return invalid_argument(printable_name(path) + ": there is no preset " + printable_name(name) + "; there are " +
                            synthetic_preset_names() + ", and synthetic:PATH/config.json takes any shape");
  }
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json document, parse_json(*preset));
  return read_hf_config(document, path, name);
}

}  // namespace

bool is_synthetic_path(std::string_view path) {
  return path.starts_with(kPrefix);
}

Result<std::unique_ptr<Checkpoint>> SyntheticCheckpoint::open(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const SyntheticModel model, parse_path(path));
  SLUICE_ASSIGN_OR_RETURN(HfConfig config,
                          model.is_file() ? read_file_config(model.shape) : read_preset(model.shape, path));
  if (config.model.vocab_size < kSyntheticTokensMin) {
    return invalid_argument(model.shape + ": vocab_size is " + std::to_string(config.model.vocab_size) +
                            ", but the bytes, bos and eos that a synthetic model reads are " +
                            std::to_string(kSyntheticTokensMin) + " tokens");
  }
  config.model.end_ids.clear();  // they are other tokens here
  SLUICE_ASSIGN_OR_RETURN(SyntheticWeights weights, SyntheticWeights::make(path, config, model.type));
  return std::unique_ptr<Checkpoint>(
      std::make_unique<SyntheticCheckpoint>(std::move(config.model), std::move(weights)));
}

Result<std::unique_ptr<Tokenizer>> SyntheticCheckpoint::tokenizer() const {
  return make_synthetic_tokenizer(config_.vocab_size);
}

Result<ChatTemplate> SyntheticCheckpoint::chat_template() const {
  return make_synthetic_chat_template();
}

}  // namespace sluice::engine
