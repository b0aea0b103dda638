#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/rope_config.h"

namespace sluice::engine {

inline constexpr int32_t kHeadDimMax = 1024;  ///< elements of a head

class GgufFile;

/// Which forward pass a model has.
enum class ModelFamily {
  kLlama,   ///< pre-norm decoder with one feed-forward network per layer: Llama, Mistral, Qwen2, Qwen3, Phi-3
  kGemma3,  ///< norms before and after both halves of a layer
  kMixtral  ///< kLlama with experts: Mixtral, Qwen3-MoE
};

enum class GateActivation { kSilu, kGeluTanh };

/// Feed-forward networks of which each token takes a few.
struct ExpertConfig {
  int32_t count = 0;        ///< 0: none
  int32_t per_token = 0;    ///< 1 to count
  int32_t ffn_width = 0;    ///< of one expert
  bool sums_to_one = true;  ///< the weights of a token's experts are scaled so; else they are shares of all experts
};

/// The shape of a decoder, named as in the papers rather than as in any file format.
struct ModelConfig {
  std::string name;          ///< for people: what the files call it, or the file's stem
  std::string architecture;  ///< as GGUF names it: "llama", "qwen2", "qwen3", "gemma3", "phi3", "qwen3moe"
  ModelFamily family = ModelFamily::kLlama;
  int32_t vocab_size = 0;
  int32_t layer_count = 0;
  int32_t width = 0;  ///< of the residual stream
  int32_t ffn_width = 0;
  int32_t head_count = 0;     ///< query heads
  int32_t kv_head_count = 0;  ///< divides head_count
  int32_t head_dim = 0;
  int32_t rope_dim = 0;  ///< leading elements of each head that are rotated; even, <= head_dim
  RopeConfig rope;
  RopeConfig window_rope;        ///< of layers with a window; mostly the same as rope
  bool rope_is_pairwise = true;  ///< rotates (2i, 2i+1), as GGUF llama files are stored; else (i, i + rope_dim/2)
  float norm_epsilon = 1e-5F;
  float norm_weight_shift = 0;  ///< added to the weights of all norms: Gemma's own files store them less one
  float attention_scale = 0;    ///< of the scores; mostly 1 / sqrt(head_dim)
  float embedding_scale = 1;
  GateActivation activation = GateActivation::kSilu;
  int32_t context_length = 0;  ///< tokens the model was trained for
  bool has_qkv_bias = false;
  bool has_qk_norm = false;  ///< RMS norm of every query and key head before the rotation
  ExpertConfig experts;
  /// A token of a layer with a window sees itself and the window - 1 tokens before it; 0 when no layer has one.
  int32_t window = 0;
  std::vector<bool> layer_has_window;  // [layer_count], or empty when no layer has one
  std::vector<int32_t> end_ids;        ///< tokens that end a generation by what the files say besides the tokenizer

  int32_t query_width() const { return head_count * head_dim; }
  int32_t kv_width() const { return kv_head_count * head_dim; }
  bool has_window(int32_t layer) const {
    return !layer_has_window.empty() && layer_has_window[static_cast<size_t>(layer)];
  }

  /// From a GGUF file's metadata. Refuses by name what it doesn't know (architecture, rope scaling) or nothing here
  /// computes, and values out of range. On success all sizes are positive and fit each other, products of any two of
  /// them stay within int64, and vocab_size is that of metadata, tokenizer and embedding alike, as far as the file has
  /// them.
  static Result<ModelConfig> from_gguf(const GgufFile& file);
};

}  // namespace sluice::engine
