#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/sampling.h"

namespace sluice::engine {

// Token lists in this file carry logits in TokenLogprob::logprob. "Likelier" is the larger logit, then the lower id.

bool is_likelier(const TokenLogprob& a, const TokenLogprob& b);

/// The `count` likeliest tokens, best first, into `top`; all of them if there are fewer. NaN and -infinity are left
/// out. Time in proportion to the vocabulary, without sorting it.
void select_top(std::span<const float> logits, size_t count, std::vector<TokenLogprob>& top);

}  // namespace sluice::engine
