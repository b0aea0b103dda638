#include "engine/model_config.h"

#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/gguf.h"
#include "engine/gguf_parser.h"

namespace sluice::engine {
namespace {

// Far beyond any model there is, and small enough that products of any two stay within 64 bits.
constexpr int64_t kVocabMax = int64_t{1} << 22;
constexpr int64_t kLayersMax = 1024;
constexpr int64_t kWidthMax = int64_t{1} << 18;
constexpr int64_t kHeadsMax = 4096;
constexpr int64_t kContextMax = int64_t{1} << 26;

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
  SLUICE_ASSIGN_OR_RETURN(config.ffn_width, metadata.count("feed_forward_length", kWidthMax * 8));
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

/// Positions that the file wants scaled would be wrong everywhere if they were not, so every such wish is refused.
Status refuse_rope_scaling(const GgufFile& file, const ArchitectureMetadata& metadata) {
  if (metadata.has("rope.scaling.type")) {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view type, file.get_string(metadata.key("rope.scaling.type")));
    if (type != "none")
      return metadata.failure("rope.scaling.type", "is \"" + printable_name(type) + "\", which is not supported");
  }
  for (const std::string_view name : {"rope.scaling.factor", "rope.scale_linear"}) {
    SLUICE_ASSIGN_OR_RETURN(const double factor, file.get_float_or(metadata.key(name), 1.0));
    if (factor != 0.0 && factor != 1.0) return metadata.failure(name, "asks for rope scaling, which is not supported");
  }
  if (file.find_tensor("rope_freqs.weight") != nullptr) {
    return invalid_argument(file.path() +
                            ": tensor rope_freqs.weight asks for rope scaling (llama3), which is not supported");
  }
  return Status();
}

Status read_rope(const GgufFile& file, const ArchitectureMetadata& metadata, ModelConfig& config) {
  SLUICE_RETURN_IF_ERROR(refuse_rope_scaling(file, metadata));
  SLUICE_ASSIGN_OR_RETURN(config.rope_base, metadata.real_or("rope.freq_base", 1.0, 1e12, 10000.0));
  SLUICE_ASSIGN_OR_RETURN(config.rope_dim, metadata.count_or("rope.dimension_count", kHeadDimMax, config.head_dim));
  if (config.rope_dim % 2 == 0 && config.rope_dim <= config.head_dim) return Status();
  return metadata.failure("rope.dimension_count", "is " + std::to_string(config.rope_dim) +
                                                      ", but must be even and at most the head's " +
                                                      std::to_string(config.head_dim) + " elements");
}

/// Parts of the llama family that change the result and that nothing here computes.
Status refuse_variants(const GgufFile& file, const ArchitectureMetadata& metadata, const ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t experts, file.get_int_or(metadata.key("expert_count"), 0));
  if (experts != 0) return metadata.failure("expert_count", "is set: mixtures of experts are not supported");
  SLUICE_ASSIGN_OR_RETURN(const int64_t window, file.get_int_or(metadata.key("attention.sliding_window"), 0));
  if (window != 0 && window < config.context_length) {
    return metadata.failure("attention.sliding_window", "is set: sliding-window attention is not supported");
  }
  SLUICE_ASSIGN_OR_RETURN(const bool is_causal, file.get_bool_or(metadata.key("attention.causal"), true));
  if (!is_causal) return metadata.failure("attention.causal", "is false: only decoders are supported");
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
  if (const GgufTensor* embedding = file.find_tensor("token_embd.weight"); embedding != nullptr) {
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

}  // namespace

Result<ModelConfig> ModelConfig::from_gguf(const GgufFile& file) {
  ModelConfig config;
  SLUICE_ASSIGN_OR_RETURN(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture != "llama" && architecture != "qwen2") {
    return invalid_argument(file.path() + ": the architecture \"" + printable_name(architecture) +
                            "\" is not supported, only llama and qwen2 are");
  }
  config.architecture = architecture;
  SLUICE_ASSIGN_OR_RETURN(config.name, model_name(file));
  config.rope_is_pairwise = architecture == "llama";
  config.has_qkv_bias = architecture == "qwen2" || file.find_tensor("blk.0.attn_q.bias") != nullptr;

  const ArchitectureMetadata metadata(file, config.architecture);
  SLUICE_RETURN_IF_ERROR(read_sizes(metadata, config));
  SLUICE_RETURN_IF_ERROR(read_heads(metadata, config));
  SLUICE_RETURN_IF_ERROR(read_rope(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(read_vocab_size(file, metadata, config));
  SLUICE_RETURN_IF_ERROR(refuse_variants(file, metadata, config));
  return config;
}

}  // namespace sluice::engine
