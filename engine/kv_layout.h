#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/model_config.h"

namespace sluice::engine {

enum class KvType { kF16, kBf16 };

/// The configuration's name of the type, "f16" or "bf16".
std::string_view kv_type_name(KvType type);
/// nullopt for any other name.
std::optional<KvType> kv_type_from_name(std::string_view name);

/// The shape of the paged KV cache: what a block holds and what it costs. How a backend lays the bytes out is its own
/// business.
struct KvLayout {
  int32_t layer_count = 0;
  int32_t kv_head_count = 0;
  int32_t head_dim = 0;
  int32_t block_size = 16;  ///< slots (tokens) in a block
  KvType type = KvType::kF16;

  static KvLayout for_model(const ModelConfig& model, int32_t block_size, KvType type) {
    return {model.layer_count, model.kv_head_count, model.head_dim, block_size, type};
  }

  /// K and V of all layers for block_size tokens; both element types take two bytes.
  int64_t block_bytes() const { return int64_t{2} * layer_count * kv_head_count * head_dim * block_size * 2; }
};

}  // namespace sluice::engine
