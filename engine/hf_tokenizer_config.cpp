#include "engine/hf_tokenizer_config.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "engine/hf_value.h"
#include "engine/json_file.h"

namespace sluice::engine {
namespace {

constexpr uint64_t kBytesMax = uint64_t{64} << 20;
constexpr std::array<std::string_view, 5> kFurtherNames = {"unk_token", "pad_token", "sep_token", "cls_token",
                                                           "mask_token"};

/// null where there is no such file.
Result<nlohmann::json> read_if_there(const std::string& path) {
  Result<nlohmann::json> document = read_json_file(path, kBytesMax);
  if (!document.ok() && document.status().code() == StatusCode::kNotFound) return nlohmann::json();
  return document;
}

/// A name, or an object with the name as its content.
Result<std::optional<std::string>> token_name(const HfValue& document, std::string_view member) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> value, document.find(member));
  if (!value) return std::optional<std::string>();
  if (value->json().is_object()) return value->find_string("content");
  SLUICE_ASSIGN_OR_RETURN(std::string name, value->string());
  return std::optional<std::string>(std::move(name));
}

Status read_names(const HfValue& document, HfTokenizerConfig& config) {
  if (!config.bos) {
    SLUICE_ASSIGN_OR_RETURN(config.bos, token_name(document, "bos_token"));
  }
  if (!config.eos) {
    SLUICE_ASSIGN_OR_RETURN(config.eos, token_name(document, "eos_token"));
  }
  for (const std::string_view member : kFurtherNames) {
    SLUICE_ASSIGN_OR_RETURN(std::optional<std::string> name, token_name(document, member));
    if (name) config.further_special.push_back(*std::move(name));
  }
  return {};
}

Status read_additions(const HfValue& document, HfTokenizerConfig& config) {
  const auto read = [&](std::string_view name, std::optional<bool>& value) -> Status {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> member, document.find(name));
    if (!member) return {};
    SLUICE_ASSIGN_OR_RETURN(value, document.get_bool_or(name, false));
    return {};
  };
  SLUICE_RETURN_IF_ERROR(read("add_bos_token", config.adds_bos));
  return read("add_eos_token", config.adds_eos);
}

Status read_added(const HfValue& document, HfTokenizerConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> added, document.find("added_tokens_decoder"));
  if (!added) return {};
  if (!added->json().is_object()) return added->fault("is not an object");
  for (const auto& [key, value] : added->json().items()) {
    int32_t id = 0;
    const std::from_chars_result parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size() && id >= 0;
    if (!is_id) return added->fault("has a member that is no id");
    SLUICE_ASSIGN_OR_RETURN(const HfValue entry, added->get(key));
    SLUICE_ASSIGN_OR_RETURN(HfAddedToken token, hf_added_token(entry, id));
    config.added.push_back(std::move(token));
  }
  return {};
}

Status read_chat_templates(const HfValue& document, HfTokenizerConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> value, document.find("chat_template"));
  if (!value) return {};
  if (!value->json().is_array()) {
    SLUICE_ASSIGN_OR_RETURN(std::string source, value->string());
    config.chat_templates.emplace_back("default", std::move(source));
    return {};
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> named, document.get_list("chat_template"));
  for (const HfValue& entry : named) {
    SLUICE_ASSIGN_OR_RETURN(std::string name, entry.get_string("name"));
    SLUICE_ASSIGN_OR_RETURN(std::string source, entry.get_string("template"));
    config.chat_templates.emplace_back(std::move(name), std::move(source));
  }
  return {};
}

}  // namespace

Result<HfTokenizerConfig> HfTokenizerConfig::read(const std::string& folder) {
  HfTokenizerConfig config;
  const std::string path = folder + "/tokenizer_config.json";
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, read_if_there(path));
  if (!json.is_null()) {
    const HfValue document(json, path + ": ");
    SLUICE_RETURN_IF_ERROR(read_names(document, config));
    SLUICE_RETURN_IF_ERROR(read_additions(document, config));
    SLUICE_RETURN_IF_ERROR(read_added(document, config));
    SLUICE_RETURN_IF_ERROR(read_chat_templates(document, config));
  }
  const std::string map_path = folder + "/special_tokens_map.json";
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json map, read_if_there(map_path));
  if (!map.is_null()) SLUICE_RETURN_IF_ERROR(read_names(HfValue(map, map_path + ": "), config));
  return config;
}

}  // namespace sluice::engine
