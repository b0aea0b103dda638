#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/batch.h"

namespace sluice::engine {

/// Memory a thread keeps from one draw to the next; its content means nothing between calls.
struct SamplerScratch {
  std::vector<TokenLogprob> candidates;
  std::vector<float> adjusted;
  std::vector<int32_t> counts;
};

/// Draws the token that follows one place of a batch, or scores row.scored_token. A pure function of its arguments: the same logits,
/// parameters, history, seed and position give the same token on every machine and in every batch.
/// `logits` is [vocab_size], all finite. One scratch per thread.
SampledToken sample_token(std::span<const float> logits, const SampleRow& row, SamplerScratch& scratch);

}  // namespace sluice::engine
