#pragma once

#include <cstdint>
#include <utility>

#include "base/status.h"
#include "engine/kv_layout.h"
#include "engine/model_config.h"

namespace sluice::engine::cuda {

/// Sizes of heads that there are kernels for.
using HeadDims = std::integer_sequence<int32_t, 16, 24, 32, 64, 80, 96, 128, 256>;
/// What the tokens of a block are a multiple of: copies move 8 slots' scales or keys at once.
inline constexpr int32_t kBlockMultiple = 8;
/// Elements of a token's vector that norms have room for.
inline constexpr int32_t kWidthMax = 16384;

/// Experts of a layer, and those that a token takes, that routing has room for.
inline constexpr int32_t kExpertCountMax = 512;
inline constexpr int32_t kExpertsPerTokenMax = 32;

/// Whether the CUDA backend serves the model with such a cache; to be asked before weights are read.
/// FAILED_PRECONDITION says what it can't.
Status check_support(const ModelConfig& model, KvType type, int32_t block_size);
/// Of a cache in any type.
Status check_block_size(int32_t block_size);
/// Of a layer; none are fine.
Status check_experts(int32_t count, int32_t per_token);
Status no_such_heads(int32_t head_dim);
Status no_such_cache(KvType type);

}  // namespace sluice::engine::cuda
