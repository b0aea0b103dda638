#pragma once

#include <span>
#include <vector>

#include "engine/sampling.h"

namespace sluice::engine {

/// Sets to 0 the weights of all tokens outside the smallest set of likeliest tokens that has the share `top_p`, in (0,
/// 1], of the sum. `weights` are those of `logits` (LogitWeight), the largest is 1. `scratch` is memory to work in.
/// Time in proportion to the vocabulary: only tokens of about equal weight around the cut are sorted.
void drop_beyond_top_p(std::span<const float> logits, float top_p, std::vector<TokenLogprob>& scratch,
                       std::span<float> weights);

/// The same for weights that go from the largest to the smallest.
void drop_beyond_top_p_sorted(float top_p, std::span<float> weights);

}  // namespace sluice::engine
