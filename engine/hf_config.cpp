#include "engine/hf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/config_fields.h"
#include "engine/hf_rope.h"
#include "engine/model_limits.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

using nlohmann::json;

/// Which layers have a window when layer_types don't say so.
enum class WindowRule {
  kAll,       ///< all, when sliding_window is set
  kAllIfOn,   ///< all, when use_sliding_window is true
  kUpperIfOn  ///< those from max_window_layers on, when use_sliding_window is true
};

struct Family {
  std::string_view model_type;
  std::string_view architecture;  ///< as GGUF names it
  ModelFamily family;
  WindowRule windows;
  bool has_qkv_bias = false;
  bool has_qk_norm = false;
  HfRopeRules rope;
  /// Members with their values for files that leave them out.
  std::string_view defaults = "{}";
};

// Of transformers' configuration classes: what matters and what files do leave out.
constexpr std::array kFamilies = {
    Family{.model_type = "llama",
           .architecture = "llama",
           .family = ModelFamily::kLlama,
           .windows = WindowRule::kAll,
           .rope = {}},
    Family{.model_type = "mistral",
           .architecture = "llama",
           .family = ModelFamily::kLlama,
           .windows = WindowRule::kAll,
           .rope = {},
           .defaults = R"({"num_key_value_heads": 8, "sliding_window": 4096})"},
    Family{.model_type = "mixtral",
           .architecture = "llama",
           .family = ModelFamily::kMixtral,
           .windows = WindowRule::kAll,
           .rope = {.base = 1e6},
           .defaults = R"({"num_key_value_heads": 8})"},
    Family{.model_type = "qwen2",
           .architecture = "qwen2",
           .family = ModelFamily::kLlama,
           .windows = WindowRule::kUpperIfOn,
           .has_qkv_bias = true,
           .rope = {},
           .defaults = R"({"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28})"},
    Family{
        .model_type = "qwen3",
        .architecture = "qwen3",
        .family = ModelFamily::kLlama,
        .windows = WindowRule::kUpperIfOn,
        .has_qk_norm = true,
        .rope = {},
        .defaults = R"({"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28, "head_dim": 128})"},
    Family{.model_type = "qwen3_moe",
           .architecture = "qwen3moe",
           .family = ModelFamily::kMixtral,
           .windows = WindowRule::kAllIfOn,
           .has_qk_norm = true,
           .rope = {},
           .defaults = R"({"num_key_value_heads": 4, "sliding_window": 4096})"},
    Family{.model_type = "phi3",
           .architecture = "phi3",
           .family = ModelFamily::kLlama,
           .windows = WindowRule::kAll,
           .rope = {.turns_parts = true, .scales = false}},
    Family{.model_type = "gemma3_text",
           .architecture = "gemma3",
           .family = ModelFamily::kGemma3,
           .windows = WindowRule::kAll,
           .has_qk_norm = true,
           .rope = {},
           .defaults = R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
               "rms_norm_eps": 1e-6, "max_position_embeddings": 131072, "hidden_activation": "gelu_pytorch_tanh",
               "sliding_window": 4096, "sliding_window_pattern": 6, "query_pre_attn_scalar": 256,
               "tie_word_embeddings": true})"}};

const Family* find_family(std::string_view model_type) {
  const auto* const found = std::ranges::find(kFamilies, model_type, &Family::model_type);
  return found == kFamilies.end() ? nullptr : found;
}

std::string known_types() {
  std::string text;
  for (const Family& family : kFamilies) text += (text.empty() ? "" : ", ") + std::string(family.model_type);
  return text + " and gemma3 are";
}

void read_sizes(const ConfigFields& fields, ModelConfig& config) {
  config.vocab_size = fields.count("vocab_size", kVocabMax);
  config.layer_count = fields.count("num_hidden_layers", kLayersMax);
  config.width = fields.count("hidden_size", kWidthMax);
  config.ffn_width = fields.count("intermediate_size", kFfnWidthMax);
  config.context_length = fields.count("max_position_embeddings", kContextMax);
  config.norm_epsilon = static_cast<float>(fields.real("rms_norm_eps", 0.0, 1.0));
}

void read_heads(const ConfigFields& fields, ModelConfig& config) {
  config.head_count = fields.count("num_attention_heads", kHeadsMax);
  config.kv_head_count = fields.count_or("num_key_value_heads", kHeadsMax, config.head_count);
  if (config.head_count % config.kv_head_count != 0) {
    fields.fail("num_attention_heads", "is " + std::to_string(config.head_count) + ", not a multiple of the " +
                                           std::to_string(config.kv_head_count) + " KV heads");
  }
  if (!fields.has("head_dim") && config.width % config.head_count != 0) {
    fields.fail("hidden_size", "is " + std::to_string(config.width) + ", not a multiple of the " +
                                   std::to_string(config.head_count) + " heads");
  }
  config.head_dim = fields.count_or("head_dim", kHeadDimMax, config.width / config.head_count);
  if (config.head_dim < 1 || config.head_dim > kHeadDimMax) {
    fields.fail("num_attention_heads", "gives heads of " + std::to_string(config.head_dim) + " elements");
    config.head_dim = 1;
  }
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
}

void read_activation(const ConfigFields& fields, ModelConfig& config) {
  const std::string_view key = config.family == ModelFamily::kGemma3 ? "hidden_activation" : "hidden_act";
  const std::string name = fields.text_or(key, "silu");
  if (name == "gelu_pytorch_tanh") config.activation = GateActivation::kGeluTanh;
  if (name == "silu" || name == "gelu_pytorch_tanh") return;
  fields.fail(key, "is \"" + printable_name(name) + "\", but only silu and gelu_pytorch_tanh are supported");
}

/// Parts that change the result and that nothing here computes.
void refuse_variants(const ConfigFields& fields) {
  for (const std::string_view name : {"attention_bias", "mlp_bias", "use_bidirectional_attention"}) {
    if (fields.flag_or(name, false)) fields.fail(name, "is true, which is not supported");
  }
  for (const std::string_view name : {"attn_logit_softcapping", "final_logit_softcapping", "quantization_config"}) {
    if (fields.has(name)) fields.fail(name, "is set, which is not supported");
  }
}

/// Whether each layer has a window, by the file's own list. Empty when there is no list.
std::vector<bool> listed_windows(const ConfigFields& fields, const ModelConfig& config) {
  std::vector<bool> windows;
  const std::vector<std::string> types = fields.texts("layer_types");
  for (const std::string& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      fields.fail("layer_types", "has \"" + printable_name(type) + "\", but only full_attention and " +
                                     "sliding_attention are supported");
    }
    windows.push_back(type == "sliding_attention");
  }
  if (!windows.empty() && windows.size() != static_cast<size_t>(config.layer_count)) {
    fields.fail("layer_types", "has " + std::to_string(windows.size()) + " entries for " +
                                   std::to_string(config.layer_count) + " layers");
  }
  return windows;
}

/// Whether layer `index` has a window, as transformers decides it where no list is given.
bool has_window_by_rule(const ConfigFields& fields, const Family& family, int32_t index) {
  if (family.family == ModelFamily::kGemma3) {
    const int32_t pattern =
        fields.count_or("_sliding_window_pattern", kLayersMax, fields.count("sliding_window_pattern", kLayersMax));
    return (index + 1) % pattern != 0;
  }
  return family.windows != WindowRule::kUpperIfOn || index >= fields.whole_or("max_window_layers", kContextMax, 0);
}

void read_windows(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  const bool is_on = family.windows == WindowRule::kAll || fields.flag_or("use_sliding_window", false);
  const int32_t window = is_on ? fields.count_or("sliding_window", kContextMax, 0) : 0;
  const std::vector<bool> listed = listed_windows(fields, config);
  std::vector<bool> windows(static_cast<size_t>(config.layer_count));
  for (int32_t i = 0; i < config.layer_count; ++i) {
    windows[static_cast<size_t>(i)] = window > 0 && has_window_by_rule(fields, family, i);
  }
  // Only these families' own code looks at the list; for the others it may repeat what is so anyway.
  const bool list_counts = family.windows == WindowRule::kUpperIfOn || family.family == ModelFamily::kGemma3;
  if (!listed.empty() && listed != windows) {
    if (!list_counts) fields.fail("layer_types", "says something else than sliding_window");
    if (window == 0) fields.fail("layer_types", "has layers with a window, but no window is set");
    windows = listed;
  }
  // A window as long as the context hides nothing.
  if (window >= config.context_length || std::ranges::count(windows, true) == 0) return;
  config.window = window;
  config.layer_has_window = std::move(windows);
}

void read_experts(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  if (family.family != ModelFamily::kMixtral) {
    for (const std::string_view name : {"num_local_experts", "num_experts"}) {
      if (fields.has(name)) fields.fail(name, "is set, but this family is known without experts only");
    }
    return;
  }
  const std::string_view key = fields.has("num_experts") ? "num_experts" : "num_local_experts";
  config.experts.count = fields.count(key, kExpertsMax);
  config.experts.per_token = fields.count("num_experts_per_tok", config.experts.count);
  config.experts.ffn_width = config.ffn_width;
  if (family.model_type == "mixtral") return;
  config.experts.ffn_width = fields.count("moe_intermediate_size", kFfnWidthMax);
  config.experts.sums_to_one = fields.flag_or("norm_topk_prob", false);
  if (fields.whole_or("decoder_sparse_step", kLayersMax, 1) != 1) {
    fields.fail("decoder_sparse_step", "is not 1: layers without experts are not supported");
  }
  if (!fields.whole_list("mlp_only_layers", kLayersMax).empty()) {
    fields.fail("mlp_only_layers", "is not empty: layers without experts are not supported");
  }
}

void read_gemma(const ConfigFields& fields, ModelConfig& config) {
  config.norm_weight_shift = 1;
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(fields.real("query_pre_attn_scalar", 1e-6, 1e9)));
}

void add_ends(const ConfigFields& fields, ModelConfig& config) {
  for (const int32_t id : fields.whole_list("eos_token_id", config.vocab_size - 1)) {
    if (std::ranges::find(config.end_ids, id) == config.end_ids.end()) config.end_ids.push_back(id);
  }
}

void read_members(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  config.architecture = family.architecture;
  config.family = family.family;
  config.has_qkv_bias = family.has_qkv_bias;
  config.has_qk_norm = family.has_qk_norm;
  config.rope_is_pairwise = false;
  read_sizes(fields, config);
  read_heads(fields, config);
  read_activation(fields, config);
  refuse_variants(fields);
  read_windows(fields, family, config);
  read_experts(fields, family, config);
  add_ends(fields, config);
  if (family.family == ModelFamily::kGemma3) {
    read_gemma(fields, config);
    read_hf_gemma_rope(fields, config);
  } else {
    read_hf_rope(fields, family.rope, config);
  }
}

/// The text model's part of a file that describes models of several kinds, under the type it has alone.
json text_part(const json& document) {
  json text = document.value("text_config", json::object());
  if (!text.is_object()) return text;
  text["model_type"] = "gemma3_text";
  for (const char* name : {"tie_word_embeddings", "eos_token_id"}) {
    if (!text.contains(name) && document.contains(name)) text[name] = document[name];
  }
  return text;
}

}  // namespace

Result<HfConfig> read_hf_config(const json& document, const std::string& path, const std::string& name) {
  if (!document.is_object()) return invalid_argument(path + ": it is not a JSON object");
  Status status;
  const std::string type = ConfigFields(document, path, status).text_or("model_type", "");
  if (!status.ok()) return status;
  if (type.empty()) return invalid_argument(path + ": model_type is missing");
  json members = type == "gemma3" ? text_part(document) : document;
  if (!members.is_object()) return invalid_argument(path + ": text_config is not an object");
  const Family* const family = find_family(type == "gemma3" ? "gemma3_text" : type);
  if (family == nullptr) {
    return invalid_argument(path + ": the model_type \"" + printable_name(type) + "\" is not supported, only " +
                            known_types());
  }
  const json defaults = json::parse(family->defaults);
  for (const auto& [key, value] : defaults.items()) members.emplace(key, value);

  HfConfig config;
  config.model_type = type;
  config.model.name = name;
  const ConfigFields fields(members, path, status);
  read_members(fields, *family, config.model);
  config.ties_embeddings = fields.flag_or("tie_word_embeddings", false);
  if (!status.ok()) return status;
  return config;
}

Status add_generation_ends(const json& document, const std::string& path, ModelConfig& config) {
  if (!document.is_object()) return invalid_argument(path + ": it is not a JSON object");
  Status status;
  add_ends(ConfigFields(document, path, status), config);
  return status;
}

}  // namespace sluice::engine
