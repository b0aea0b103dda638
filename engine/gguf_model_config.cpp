#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/gguf.h"
#include "engine/gguf_parser.h"
#include "engine/model_config.h"
#include "engine/model_limits.h"

namespace sluice::engine {
namespace {

/// Reads the metadata of one architecture: "llama.block_count" is int_in("block_count", …).
class ArchitectureMetadata {
 public:
  ArchitectureMetadata(const GgufFile& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  bool has(std::string_view name) const { return file_.find(key(name)) != nullptr; }

  Status failure(std::string_view name, std::string_view problem) const {
    return invalid_argument(file_.path() + ": metadata " + key(name) + " " + std::string(problem));
  }

  /// A number from 1 to `max`.
  Result<int32_t> count(std::string_view name, int64_t max) const {
    SLUICE_ASSIGN_OR_RETURN(const int64_t value, file_.get_int(key(name)));
    if (value >= 1 && value <= max) return static_cast<int32_t>(value);
    return failure(name, "is " + std::to_string(value) + ", but must be from 1 to " + std::to_string(max));
  }
  Result<int32_t> count_or(std::string_view name, int64_t max, int32_t fallback) const {
    return has(name) ? count(name, max) : Result<int32_t>(fallback);
  }

  /// A float32 with low <= value <= high; NaN is outside.
  Result<float> real_or(std::string_view name, double low, double high, double fallback) const {
    SLUICE_ASSIGN_OR_RETURN(const double value, file_.get_float_or(key(name), fallback));
    if (value >= low && value <= high) return static_cast<float>(value);
    return failure(name, "is " + std::to_string(value) + ", which is out of range");
  }

 private:
  const GgufFile& file_;
  const std::string architecture_;
};

Status read_sizes(const ArchitectureMetadata& metadata, ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(config.layer_count, metadata.count("block_count", kLayersMax));
  SLUICE_ASSIGN_OR_RETURN(config.width, metadata.count("embedding_length", kWidthMax));
  SLUICE_ASSIGN_OR_RETURN(config.ffn_width, metadata.count("feed_forward_length", kFfnWidthMax));
  SLUICE_ASSIGN_OR_RETURN(config.context_length, metadata.count("context_length", kContextMax));
  if (!metadata.has("attention.layer_norm_rms_epsilon")) {
    return metadata.failure("attention.layer_norm_rms_epsilon", "is missing");
  }
  SLUICE_ASSIGN_OR_RETURN(config.norm_epsilon, metadata.real_or("attention.layer_norm_rms_epsilon", 0.0, 1.0, 0.0));
  return Status();
}

Status read_heads(const ArchitectureMetadata& metadata, ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(config.head_count, metadata.count("attention.head_count", kHeadsMax));
  SLUICE_ASSIGN_OR_RETURN(config.kv_head_count,
                          metadata.count_or("attention.head_count_kv", kHeadsMax, config.head_count));
  if (config.head_count % config.kv_head_count != 0) {
    return metadata.failure("attention.head_count", "is " + std::to_string(config.head_count) +
                                                        ", not a multiple of the " +
                                                        std::to_string(config.kv_head_count) + " KV heads");
  }
  if (!metadata.has("attention.key_length") && config.width % config.head_count != 0) {
    return metadata.failure("embedding_length", "is " + std::to_string(config.width) + ", not a multiple of the " +
                                                    std::to_string(config.head_count) + " heads");
  }
  SLUICE_ASSIGN_OR_RETURN(config.head_dim,
                          metadata.count_or("attention.key_length", kHeadDimMax, config.width / config.head_count));
  if (config.head_dim < 1 || config.head_dim > kHeadDimMax) {
    return metadata.failure("attention.head_count", "gives heads of " + std::to_string(config.head_dim) + " elements");
  }
  SLUICE_ASSIGN_OR_RETURN(const int32_t value_dim,
                          metadata.count_or("attention.value_length", kHeadDimMax, config.head_dim));
  if (value_dim != config.head_dim)
    return metadata.failure("attention.value_length", "must equal attention.key_length");
  return Status();
}

/// Angles that the file wants stretched in a way nobody here knows would be wrong everywhere, so they are refused.
Status read_rope_scaling(const GgufFile& file, const ArchitectureMetadata& metadata, ModelConfig& config) {
  for (const std::string_view name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (file.find_tensor(name) == nullptr) continue;
    return invalid_argument(file.path() + ": tensor " + std::string(name) +
                            " asks for rope scaling (longrope), which is not supported");
  }
  SLUICE_ASSIGN_OR_RETURN(const double linear, file.get_float_or(metadata.key("rope.scale_linear"), 1.0));
  if (linear != 0.0 && linear != 1.0)
    return metadata.failure("rope.scale_linear", "asks for rope scaling in a way that is not supported");
  std::string_view type = "none";
  if (metadata.has("rope.scaling.type")) {
    SLUICE_ASSIGN_OR_RETURN(type, file.get_string(metadata.key("rope.scaling.type")));
  }
  SLUICE_ASSIGN_OR_RETURN(config.rope.factor, metadata.real_or("rope.scaling.factor", 0.0, 1e6, 1.0));
  if (config.rope.factor == 0.0) config.rope.factor = 1.0;
  if (type == "none") {
    if (config.rope.factor == 1.0) return Status();
    return metadata.failure("rope.scaling.factor", "is set, but rope.scaling.type doesn't say what it is for");
  }
  if (type == "linear") {
    config.rope.scaling = RopeScaling::kLinear;
    return Status();
  }
  if (type != "yarn")
    return metadata.failure("rope.scaling.type", "is \"" + printable_name(type) + "\", which is not supported");
  config.rope.scaling = RopeScaling::kYarn;
  SLUICE_ASSIGN_OR_RETURN(config.rope.original_context,
                          metadata.count("rope.scaling.original_context_length", kContextMax));
  SLUICE_ASSIGN_OR_RETURN(const float magnitude, metadata.real_or("rope.scaling.attn_factor", 0.0, 1e3, 1.0));
  config.rope.magnitude = static_cast<double>(magnitude) * yarn_magnitude(config.rope.factor);
  if (metadata.has("rope.scaling.yarn_log_multiplier"))
    return metadata.failure("rope.scaling.yarn_log_multiplier", "is set, which is not supported");
  return Status();
}

/// Llama 3's scaling comes as a tensor of divisors.
Status read_rope_divisors(const GgufFile& file, ModelConfig& config) {
  const StoredTensor* tensor = file.find_tensor("rope_freqs.weight");
  if (tensor == nullptr) return Status();
  const auto fail = [&](const std::string& problem) {
    return invalid_argument(file.path() + ": tensor rope_freqs.weight " + problem);
  };
  if (config.rope.scaling != RopeScaling::kNone) return fail("asks for a second kind of rope scaling");
  if (tensor->type != TensorType::kF32) return fail("has type " + tensor_type_name(tensor->type) + " instead of F32");
  if (tensor->shape.size() != 1 || tensor->shape[0] != config.rope_dim / 2)
    return fail("does not have one number for each of the " + std::to_string(config.rope_dim / 2) + " pairs of a head");
  config.rope.scaling = RopeScaling::kDivisors;
  config.rope.divisors.resize(static_cast<size_t>(config.rope_dim / 2));
  dequantize(tensor->type, tensor->data, config.rope.divisors);
  const bool are_positive = std::all_of(config.rope.divisors.begin(), config.rope.divisors.end(),
                                        [](float divisor) { return divisor > 0 && std::isfinite(divisor); });
  return are_positive ? Status() : fail("has a divisor that is not a positive number");
}

Status read_rope(const GgufFile& file, const ArchitectureMetadata& metadata, ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(config.rope.base, metadata.real_or("rope.freq_base", 1.0, kRopeBaseMax, 10000.0));
  SLUICE_ASSIGN_OR_RETURN(config.rope_dim, metadata.count_or("rope.dimension_count", kHeadDimMax, config.head_dim));
  if (config.rope_dim % 2 != 0 || config.rope_dim > config.head_dim) {
    return metadata.failure("rope.dimension_count", "is " + std::to_string(config.rope_dim) +
                                                        ", but must be even and at most the head's " +
                                                        std::to_string(config.head_dim) + " elements");
  }
  SLUICE_RETURN_IF_ERROR(read_rope_scaling(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(read_rope_divisors(file, config));
  config.window_rope = config.rope;
  if (config.family != ModelFamily::kGemma3) return Status();
  // Layers with a window have angles of their own, which are never stretched.
  config.window_rope = RopeConfig();
  SLUICE_ASSIGN_OR_RETURN(config.window_rope.base, metadata.real_or("rope.freq_base_swa", 1.0, kRopeBaseMax, 10000.0));
  return Status();
}

/// Which layers have a window: all, but in Gemma 3 all but every sixth, or as the file says.
Status read_window(const GgufFile& file, const ArchitectureMetadata& metadata, ModelConfig& config) {
  if (!metadata.has("attention.sliding_window")) return Status();
  SLUICE_ASSIGN_OR_RETURN(const int64_t window, file.get_int(metadata.key("attention.sliding_window")));
  if (window < 0 || window > kContextMax)
    return metadata.failure("attention.sliding_window", "is " + std::to_string(window) + ", which is out of range");
  if (window == 0 || window >= config.context_length) return Status();  // nobody ever looks that far
  config.window = static_cast<int32_t>(window);
  int32_t period = config.family == ModelFamily::kGemma3 ? 6 : 1;
  const GgufValue* pattern = file.find(metadata.key("attention.sliding_window_pattern"));
  const auto* array = pattern == nullptr ? nullptr : std::get_if<GgufArray>(pattern);
  const auto* each = array == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(array);
  if (pattern != nullptr && each == nullptr) {
    SLUICE_ASSIGN_OR_RETURN(period, metadata.count("attention.sliding_window_pattern", kLayersMax));
  }
  if (each != nullptr && static_cast<int32_t>(each->size()) != config.layer_count)
    return metadata.failure("attention.sliding_window_pattern", "does not have one entry for each layer");
  for (int32_t layer = 0; layer < config.layer_count; ++layer) {
    const bool has_window =
        each != nullptr ? (*each)[static_cast<size_t>(layer)] != 0 : period == 1 || layer % period != period - 1;
    config.layer_has_window.push_back(has_window);
  }
  return Status();
}

Status read_experts(const GgufFile& file, const ArchitectureMetadata& metadata, ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, file.get_int_or(metadata.key("expert_count"), 0));
  const bool needs_experts = config.architecture == "qwen3moe";
  if (count == 0 && !needs_experts) return Status();
  if (config.architecture != "llama" && !needs_experts)
    return metadata.failure("expert_count", "is set: no experts are known of this architecture");
  config.family = ModelFamily::kMixtral;
  SLUICE_ASSIGN_OR_RETURN(config.experts.count, metadata.count("expert_count", kExpertsMax));
  SLUICE_ASSIGN_OR_RETURN(config.experts.per_token, metadata.count("expert_used_count", config.experts.count));
  SLUICE_ASSIGN_OR_RETURN(config.experts.ffn_width,
                          metadata.count_or("expert_feed_forward_length", kFfnWidthMax, config.ffn_width));
  for (const std::string_view name : {"expert_shared_count", "leading_dense_block_count", "expert_group_count"}) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t value, file.get_int_or(metadata.key(name), 0));
    if (value != 0) return metadata.failure(name, "is set, which is not supported");
  }
  SLUICE_ASSIGN_OR_RETURN(const int64_t gating, file.get_int_or(metadata.key("expert_gating_func"), 1));
  if (gating != 0 && gating != 1) return metadata.failure("expert_gating_func", "is not the supported softmax");
  SLUICE_ASSIGN_OR_RETURN(const double scale, file.get_float_or(metadata.key("expert_weights_scale"), 1.0));
  if (scale != 0.0 && scale != 1.0) return metadata.failure("expert_weights_scale", "is set, which is not supported");
  return Status();
}

/// Parts of these architectures that change the result and that nothing here computes.
Status refuse_variants(const GgufFile& file, const ArchitectureMetadata& metadata) {
  SLUICE_ASSIGN_OR_RETURN(const bool is_causal, file.get_bool_or(metadata.key("attention.causal"), true));
  if (!is_causal) return metadata.failure("attention.causal", "is false: only decoders are supported");
  for (const std::string_view name : {"attn_logit_softcapping", "final_logit_softcapping", "logit_scale",
                                      "embedding_scale", "residual_scale", "attention.scale"}) {
    SLUICE_ASSIGN_OR_RETURN(const double value, file.get_float_or(metadata.key(name), 0.0));
    if (value != 0.0) return metadata.failure(name, "is set, which is not supported");
  }
  return Status();
}

struct VocabSource {
  std::string name;
  int64_t size = 0;
};

/// Everything in the file that says how many tokens there are.
Result<std::vector<VocabSource>> vocab_sources(const GgufFile& file, const ArchitectureMetadata& metadata) {
  std::vector<VocabSource> sources;
  if (metadata.has("vocab_size")) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t size, file.get_int(metadata.key("vocab_size")));
    sources.push_back({metadata.key("vocab_size"), size});
  }
  if (const GgufValue* tokens = file.find("tokenizer.ggml.tokens"); tokens != nullptr) {
    const auto* array = std::get_if<GgufArray>(tokens);
    const auto* strings = array == nullptr ? nullptr : std::get_if<std::vector<std::string_view>>(array);
    if (strings == nullptr)
      return invalid_argument(file.path() + ": metadata tokenizer.ggml.tokens is not an array of strings");
    sources.push_back({"tokenizer.ggml.tokens", static_cast<int64_t>(strings->size())});
  }
  if (const StoredTensor* embedding = file.find_tensor("token_embd.weight"); embedding != nullptr) {
    sources.push_back({"token_embd.weight", embedding->row_count()});
  }
  return sources;
}

/// Logits, tokenizer and embedding index each other by token id, so their sizes must be one.
Status read_vocab_size(const GgufFile& file, const ArchitectureMetadata& metadata, ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<VocabSource> sources, vocab_sources(file, metadata));
  if (sources.empty()) return metadata.failure("vocab_size", "is missing, and so are tokens and embedding");
  const VocabSource& first = sources.front();
  for (const VocabSource& source : sources) {
    if (source.size == first.size) continue;
    return invalid_argument(file.path() + ": " + first.name + " has " + std::to_string(first.size) + " tokens, but " +
                            source.name + " has " + std::to_string(source.size));
  }
  if (first.size < 1 || first.size > kVocabMax) {
    return invalid_argument(file.path() + ": a vocabulary of " + std::to_string(first.size) +
                            " tokens is out of range");
  }
  config.vocab_size = static_cast<int32_t>(first.size);
  return Status();
}

Result<std::string> model_name(const GgufFile& file) {
  const std::string stem = printable_name(std::filesystem::path(file.path()).stem().string());
  if (file.find("general.name") == nullptr) return stem;
  SLUICE_ASSIGN_OR_RETURN(const std::string_view name, file.get_string("general.name"));
  return name.empty() ? stem : printable_name(name);
}

/// What an architecture's name says of a model besides its metadata.
struct Architecture {
  std::string_view name;
  ModelFamily family = ModelFamily::kLlama;
  bool is_pairwise = false;
  bool has_qkv_bias = false;
  bool has_qk_norm = false;
};

constexpr std::array<Architecture, 6> kArchitectures = {{
    {.name = "llama", .is_pairwise = true},
    {.name = "qwen2", .has_qkv_bias = true},
    {.name = "qwen3", .has_qk_norm = true},
    {.name = "qwen3moe", .family = ModelFamily::kMixtral, .has_qk_norm = true},
    {.name = "gemma3", .family = ModelFamily::kGemma3, .has_qk_norm = true},
    {.name = "phi3"},
}};

Result<Architecture> architecture_of(const GgufFile& file) {
  SLUICE_ASSIGN_OR_RETURN(const std::string_view name, file.get_string("general.architecture"));
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return invalid_argument(file.path() + ": the architecture \"" + printable_name(name) +
                          "\" is not supported; supported are " + known);
}

void set_scales(ModelConfig& config) {
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  if (config.family != ModelFamily::kGemma3) return;
  config.activation = GateActivation::kGeluTanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  // The 27 B model, the only one with 62 layers, scales scores by its width per head, which its heads don't have.
  constexpr int32_t kLargestLayers = 62;
  if (config.layer_count != kLargestLayers) return;
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.width) / static_cast<float>(config.head_count));
}

}  // namespace

Result<ModelConfig> ModelConfig::from_gguf(const GgufFile& file) {
  ModelConfig config;
  SLUICE_ASSIGN_OR_RETURN(const Architecture architecture, architecture_of(file));
  config.architecture = architecture.name;
  config.family = architecture.family;
  SLUICE_ASSIGN_OR_RETURN(config.name, model_name(file));
  config.rope_is_pairwise = architecture.is_pairwise;
  config.has_qkv_bias = architecture.has_qkv_bias || file.find_tensor("blk.0.attn_q.bias") != nullptr;
  config.has_qk_norm = architecture.has_qk_norm;

  const ArchitectureMetadata metadata(file, config.architecture);
  SLUICE_RETURN_IF_ERROR(read_sizes(metadata, config));
  SLUICE_RETURN_IF_ERROR(read_heads(metadata, config));
  SLUICE_RETURN_IF_ERROR(read_rope(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(read_vocab_size(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(read_window(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(read_experts(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(refuse_variants(file, metadata));
  set_scales(config);
  return config;
}

}  // namespace sluice::engine
