#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/counter_random.h"
#include "engine/penalties.h"
#include "engine/softmax.h"
#include "engine/top_p.h"
#include "engine/top_tokens.h"

namespace sluice::engine {
namespace {

/// The first token with the largest logit; 0 when none is a number.
int32_t likeliest(std::span<const float> logits, float max) {
  const auto found = std::find(logits.begin(), logits.end(), max);
  return found == logits.end() ? 0 : static_cast<int32_t>(found - logits.begin());
}

/// min_p compares with the likeliest token, whose weight is 1.
void drop_below(float min_p, std::span<float> weights) {
  if (min_p <= 0.0F) return;
  for (float& weight : weights) weight = weight < min_p ? 0.0F : weight;
}

void weigh_all(std::span<const float> logits, const LogitWeight& weight_of, std::vector<float>& weights) {
  // Small arrays of known size: compilers turn them into vectors at every level of optimisation.
  constexpr size_t kLanes = 16;
  weights.resize(logits.size());
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    std::array<float, kLanes> lanes;
    std::copy_n(&logits[i], kLanes, lanes.begin());
    for (float& lane : lanes) lane = weight_of(lane);
    std::copy_n(lanes.begin(), kLanes, &weights[i]);
  }
  for (; i < logits.size(); ++i) weights[i] = weight_of(logits[i]);
}

/// Draws from the whole vocabulary, in the order of ids: nothing needs sorting.
int32_t draw_from_all(std::span<const float> logits, const LogitWeight& weight_of, const SamplingParams& params,
                      double unit, SamplerScratch& scratch) {
  weigh_all(logits, weight_of, scratch.weights);
  drop_beyond_top_p(logits, params.top_p, scratch.candidates, scratch.weights);
  drop_below(params.min_p, scratch.weights);
  return static_cast<int32_t>(draw_index(scratch.weights, unit));
}

/// Draws from the top_k likeliest, best first.
int32_t draw_from_top_k(std::span<const float> logits, const LogitWeight& weight_of, const SamplingParams& params,
                        double unit, SamplerScratch& scratch) {
  select_top(logits, static_cast<size_t>(params.top_k), scratch.candidates);
  scratch.weights.clear();
  for (const TokenLogprob& candidate : scratch.candidates) scratch.weights.push_back(weight_of(candidate.logprob));
  drop_beyond_top_p_sorted(params.top_p, scratch.weights);
  drop_below(params.min_p, scratch.weights);
  return scratch.candidates[draw_index(scratch.weights, unit)].token;
}

int32_t draw_token(std::span<const float> logits, const SampleRow& row, SamplerScratch& scratch) {
  const SamplingParams& params = *row.params;
  const float max = max_logit(logits);
  const bool is_greedy = params.temperature < SamplingParams::kGreedyTemperature || params.top_k == 1;
  if (is_greedy || !std::isfinite(max)) return likeliest(logits, max);
  const double unit = random_unit(row.seed, row.position);
  const LogitWeight weight_of(max, params.temperature);
  const bool is_top_k_on = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  return is_top_k_on ? draw_from_top_k(logits, weight_of, params, unit, scratch)
                     : draw_from_all(logits, weight_of, params, unit, scratch);
}

/// log p = logit - max - log(sum of e^(logit - max)), of the model's own logits.
void add_logprobs(std::span<const float> logits, int32_t top_count, SamplerScratch& scratch, SampledToken& sampled) {
  const float max = max_logit(logits);
  weigh_all(logits, LogitWeight(max, 1.0F), scratch.weights);
  const double log_total = static_cast<double>(max) + std::log(sum_weights(scratch.weights));
  const auto logprob_of = [&](float logit) { return static_cast<float>(static_cast<double>(logit) - log_total); };
  sampled.logprob = logprob_of(logits[static_cast<size_t>(sampled.token)]);
  select_top(logits, static_cast<size_t>(std::max(top_count, 0)), sampled.top);
  for (TokenLogprob& alternative : sampled.top) alternative.logprob = logprob_of(alternative.logprob);
}

}  // namespace

SampledToken sample_token(std::span<const float> logits, const SampleRow& row, SamplerScratch& scratch) {
  SLUICE_CHECK(!logits.empty() && row.params != nullptr);
  SLUICE_CHECK(row.scored_token < 0 || static_cast<size_t>(row.scored_token) < logits.size());
  const bool is_scored = row.scored_token >= 0;
  SampledToken sampled;
  sampled.token = is_scored ? row.scored_token : draw_token(adjusted_logits(logits, row, scratch), row, scratch);
  if (is_scored || row.params->top_logprobs >= 0) add_logprobs(logits, row.params->top_logprobs, scratch, sampled);
  return sampled;
}

}  // namespace sluice::engine
