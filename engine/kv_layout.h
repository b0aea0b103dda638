#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "engine/layer_groups.h"
#include "engine/model_config.h"

namespace sluice::engine {

enum class KvType {
  kF32,  ///< exact, at twice the memory
  kF16,
  kBf16,
  kInt8,  ///< with one float scale per token and head, for keys and for values
  kFp8,   ///< e4m3, with scales as for kInt8 that are powers of two; CUDA alone has it
};

/// The configuration's name of the type, "f32", "f16", "bf16", "int8" or "fp8".
std::string_view kv_type_name(KvType type);
/// nullopt for any other name.
std::optional<KvType> kv_type_from_name(std::string_view name);

/// The shape of the paged KV cache: what a block holds and what it costs. How a backend lays the bytes out is its own
/// business.
struct KvLayout {
  LayerGroups groups;
  int32_t kv_head_count = 0;
  int32_t head_dim = 0;
  int32_t block_size = 16;  ///< slots (tokens) in a block
  KvType type = KvType::kF16;
  int32_t window = 0;          ///< tokens that layers of window groups see
  int32_t head_count = 0;      ///< of the queries
  int32_t context_length = 0;  ///< tokens of one sequence at most
  /// Of a step, at most; as many as it has tokens where nobody says less.
  int32_t rows_max = std::numeric_limits<int32_t>::max();

  /// For steps in which no row has more than `slice_max` tokens.
  static KvLayout for_model(const ModelConfig& model, int32_t block_size, KvType type, int32_t slice_max) {
    return {LayerGroups::for_model(model, block_size, slice_max),
            model.kv_head_count,
            model.head_dim,
            block_size,
            type,
            model.window,
            model.head_count,
            model.context_length};
  }

  /// Of one sequence's table.
  int64_t context_blocks_max() const { return (int64_t{context_length} + block_size - 1) / block_size; }
  /// Keys and values of one head of one layer for block_size tokens.
  int64_t head_block_bytes() const {
    const int64_t elements = int64_t{2} * head_dim * block_size;
    constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
    if (type == KvType::kF32) return elements * kFloatBytes;
    if (type == KvType::kInt8 || type == KvType::kFp8) return elements + int64_t{2} * block_size * kFloatBytes;
    return 2 * elements;
  }
  /// The same of all heads and of a group's layers: what one block of the pool costs.
  int64_t block_bytes() const { return head_block_bytes() * kv_head_count * groups.layers_per_block; }
  /// What one token costs in all groups together, while no window has left it behind.
  int64_t token_bytes() const { return groups.count() * block_bytes() / block_size; }
};

}  // namespace sluice::engine
