#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/logit_candidates.h"
#include "engine/sampling.h"

namespace sluice::engine {

// Token lists in this file carry logits in TokenLogprob::logprob. "Likelier" is the larger logit, then the lower id.

bool is_likelier(const TokenLogprob& a, const TokenLogprob& b);

/// What select_top works in.
struct TopTokensScratch {
  std::vector<float> group_tops;
  LogitCandidates candidates;
};

/// The `count` likeliest tokens, best first, into `top`; all of them if there are fewer. NaN and -infinity are left
/// out. Looks at the tops of all blocks, and at the logits of about `count` blocks.
void select_top(const Logits& logits, size_t count, const LogitKernels& kernels, TopTokensScratch& scratch,
                std::vector<TokenLogprob>& top);

}  // namespace sluice::engine
