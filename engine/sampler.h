#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/batch.h"

namespace sluice::engine {

/// Memory a thread keeps from one draw to the next; what is in it is the sampler's business.
struct SamplerScratch {
  std::vector<TokenLogprob> candidates;  ///< with logits where the log-probabilities will be
  std::vector<float> adjusted;           ///< [vocab_size] logits after penalties and bias
  std::vector<float> weights;            ///< [candidates or vocab_size] relative probabilities
  std::vector<int32_t> counts;           ///< [vocab_size] all zero between draws
};

/// Draws the token that follows one place of a batch, or scores row.scored_token. A pure function of its arguments: the
/// same logits, parameters, history, seed and position give the same token on every machine and in every batch.
///
/// `logits` is [vocab_size], not empty; row.params are valid for it, and all tokens of row lie in it. A scored token
/// always gets its log-probability, a drawn one only with params->top_logprobs >= 0. Equal logits count as ordered by
/// token id, lower first. A logit that is not a number is never drawn while there is another. One scratch per thread.
SampledToken sample_token(std::span<const float> logits, const SampleRow& row, SamplerScratch& scratch);

}  // namespace sluice::engine
