#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sluice::engine {

inline constexpr int32_t kHeadDimMax = 1024;  ///< elements of a head

class GgufFile;

/// The shape of a llama-family decoder, named as in the paper rather than as in any file format.
struct ModelConfig {
  std::string name;          ///< for people: general.name or the file's stem
  std::string architecture;  ///< "llama" or "qwen2"
  int32_t vocab_size = 0;
  int32_t layer_count = 0;
  int32_t width = 0;  ///< of the residual stream
  int32_t ffn_width = 0;
  int32_t head_count = 0;     ///< query heads
  int32_t kv_head_count = 0;  ///< divides head_count
  int32_t head_dim = 0;
  int32_t rope_dim = 0;  ///< leading elements of each head that are rotated; even, <= head_dim
  float rope_base = 10000.0F;
  bool rope_is_pairwise = true;  ///< rotates (2i, 2i+1), as GGUF llama files are stored; else (i, i + rope_dim/2)
  float norm_epsilon = 1e-5F;
  int32_t context_length = 0;  ///< tokens the model was trained for
  bool has_qkv_bias = false;

  int32_t kv_width() const { return kv_head_count * head_dim; }

  /// From a GGUF file's metadata. Refuses by name what it doesn't know (architecture, rope scaling) or nothing here
  /// computes (experts, sliding windows), and values out of range. On success all sizes are positive and fit each
  /// other, products of any two of them stay within int64, and vocab_size is that of metadata, tokenizer and
  /// embedding alike, as far as the file has them.
  static Result<ModelConfig> from_gguf(const GgufFile& file);
};

}  // namespace sluice::engine
