#pragma once

#include <span>
#include <vector>

#include "engine/batch.h"
#include "engine/logit_kernels.h"
#include "engine/logit_row.h"
#include "engine/penalties.h"
#include "engine/top_tokens.h"

namespace sluice::engine {

/// Memory a thread keeps from one draw to the next; what is in it is the sampler's business.
struct SamplerScratch {
  TopTokensScratch top;
  PenaltyScratch penalties;
  std::vector<TokenLogprob> likeliest;  ///< with logits where the log-probabilities will be
  std::vector<float> logits;            ///< [top_k] of `likeliest`
  std::vector<float> weights;           ///< [top_k] of `likeliest`
  std::vector<double> chunk_sums;       ///< [vocab_size / kLogitChunk] sums of weights
};

/// Draws the token that follows one place of a batch, or scores row.scored_token. A pure function of its arguments: the
/// same logits, parameters, history, seed and position give the same token in every batch, and on every machine with
/// the same kernels.
///
/// row.params are valid for the vocabulary, and all tokens of row lie in it. A scored token always gets its
/// log-probability, a drawn one only with params->top_logprobs >= 0. Equal logits count as ordered by token id, lower
/// first. A logit that is not a number is never drawn while there is another. `logits` change during the call where the
/// row has penalties or a bias, and are as before when it returns. One scratch per thread; memory is taken only to make
/// it grow, and for the alternatives in the result.
SampledToken sample_token(LogitRow logits, const SampleRow& row, SamplerScratch& scratch,
                          const LogitKernels& kernels = portable_logit_kernels());

}  // namespace sluice::engine
