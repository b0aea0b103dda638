#pragma once

#include <span>
#include <vector>

#include "engine/logit_candidates.h"
#include "engine/sampling.h"

namespace sluice::engine {

/// Leaves in `candidates`, with their weights, the smallest set of likeliest tokens that has the share `top_p`, in
/// (0, 1), of `sum`, which is that of all weights. Others may be there too, with weight 0. `scratch` is memory to work
/// in. Sorts only a few tokens about as likely as the last one kept.
void collect_nucleus(const Logits& logits, const LogitScale& scale, double sum, float top_p,
                     const LogitKernels& kernels, LogitCandidates& candidates, std::vector<TokenLogprob>& scratch);

/// Sets to 0 the weights, which go from the largest to the smallest, beyond the share `top_p` of their sum.
void drop_beyond_top_p_sorted(float top_p, std::span<float> weights);

}  // namespace sluice::engine
