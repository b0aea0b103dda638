#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/model_config.h"

namespace sluice::engine {

inline constexpr int32_t kRanksMax = 64;  ///< that one model is shared out over

/// One of those that compute a model together (tensor parallelism, Shoeybi et al. 2019): each has an equal run of every
/// layer's heads and of its feed-forward network, and all of the rest.
struct Rank {
  int32_t index = 0;  ///< 0 to count - 1
  int32_t count = 1;
};

/// Whether so many ranks can share the model: heads, KV heads and feed-forward widths are multiples of `rank_count`.
/// INVALID_ARGUMENT names the key that asks for them, what they can't share and the counts that work. From 1 to
/// kRanksMax.
Status check_rank_count(const ModelConfig& model, int32_t rank_count);

/// What a rank has of a model that its count can share: an ordinary, smaller model.
ModelConfig rank_config(const ModelConfig& model, const Rank& rank);

}  // namespace sluice::engine
