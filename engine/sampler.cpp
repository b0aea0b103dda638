#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/counter_random.h"
#include "engine/softmax.h"
#include "engine/top_p.h"

namespace sluice::engine {
namespace {

/// One row on its way to a token: what all draws share.
struct Draw {
  const Logits& logits;
  const SamplingParams& params;
  const LogitScale scale;
  const double unit;
  const LogitKernels& kernels;
  SamplerScratch& scratch;
};

/// min_p compares with the likeliest token, whose weight is 1.
void drop_below(float min_p, std::span<float> weights) {
  for (float& weight : weights) weight = weight < min_p ? 0.0F : weight;
}

/// Below this logit every weight, with its rounding, is less than min_p.
/// e^((l - max) / t) < p  <=>  l < max + t * log(p): compare logits, skip the exponentials.
double min_p_floor(const LogitScale& scale, float min_p) {
  constexpr double kMargin = 1e-3;  // in units of temperature; a weight is off by 1e-4 at most
  const double depth = std::log(static_cast<double>(min_p)) - kMargin;
  return static_cast<double>(scale.max) + static_cast<double>(scale.temperature) * depth;
}

/// Draws from the whole vocabulary, in the order of ids.
int32_t draw_from_all(const Draw& draw) {
  std::vector<double>& chunk_sums = draw.scratch.chunk_sums;
  sum_weights(draw.logits.values, draw.scale, draw.kernels, chunk_sums);
  return static_cast<int32_t>(draw_index(draw.logits.values, draw.scale, draw.kernels, chunk_sums, draw.unit));
}

/// Draws from what top_p and min_p leave of the vocabulary, in the order of ids.
int32_t draw_from_head(const Draw& draw) {
  LogitCandidates& candidates = draw.scratch.top.candidates;
  if (draw.params.top_p < 1.0F) {
    const double sum = sum_weights(draw.logits.values, draw.scale, draw.kernels, draw.scratch.chunk_sums);
    collect_nucleus(draw.logits, draw.scale, sum, draw.params.top_p, draw.kernels, candidates, draw.scratch.likeliest);
  } else {
    candidates.collect(draw.logits, min_p_floor(draw.scale, draw.params.min_p), draw.kernels);
    candidates.weigh(draw.scale, draw.kernels);
  }
  drop_below(draw.params.min_p, candidates.weights());
  return candidates.tokens()[draw_index(candidates.weights(), draw.unit)];
}

/// Draws from the top_k likeliest, best first.
int32_t draw_from_top_k(const Draw& draw) {
  SamplerScratch& scratch = draw.scratch;
  select_top(draw.logits, static_cast<size_t>(draw.params.top_k), draw.kernels, scratch.top, scratch.likeliest);
  scratch.logits.clear();
  for (const TokenLogprob& candidate : scratch.likeliest) scratch.logits.push_back(candidate.logprob);
  scratch.weights.resize(scratch.logits.size());
  weigh_all(scratch.logits, draw.scale, draw.kernels, scratch.weights);
  drop_beyond_top_p_sorted(draw.params.top_p, scratch.weights);
  drop_below(draw.params.min_p, scratch.weights);
  return scratch.likeliest[draw_index(scratch.weights, draw.unit)].token;
}

int32_t draw_token(const Logits& logits, const SampleRow& row, const LogitKernels& kernels, SamplerScratch& scratch) {
  const SamplingParams& params = *row.params;
  const float max = largest_of(logits.block_tops);
  const bool is_greedy = params.temperature < SamplingParams::kGreedyTemperature || params.top_k == 1;
  if (is_greedy || !std::isfinite(max)) return likeliest_token(logits, max);
  const Draw draw{logits, params, {max, params.temperature}, random_unit(row.seed, row.position), kernels, scratch};
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.values.size()) return draw_from_top_k(draw);
  return params.top_p < 1.0F || params.min_p > 0.0F ? draw_from_head(draw) : draw_from_all(draw);
}

int32_t draw_with_penalties(const LogitRow& logits, const SampleRow& row, const LogitKernels& kernels,
                            SamplerScratch& scratch) {
  apply_penalties(logits, row, scratch.penalties);
  const int32_t token = draw_token(logits, row, kernels, scratch);
  undo_penalties(logits, scratch.penalties);
  return token;
}

/// log p = logit - max - log(sum of e^(logit - max)), of the model's own logits.
void add_logprobs(const Logits& logits, int32_t top_count, const LogitKernels& kernels, SamplerScratch& scratch,
                  SampledToken& sampled) {
  const LogitScale scale{.max = largest_of(logits.block_tops), .temperature = 1.0F};
  const double log_sum = std::log(sum_weights(logits.values, scale, kernels, scratch.chunk_sums));
  const double log_total = static_cast<double>(scale.max) + log_sum;
  const auto logprob_of = [&](float logit) { return static_cast<float>(static_cast<double>(logit) - log_total); };
  sampled.logprob = logprob_of(logits.values[static_cast<size_t>(sampled.token)]);
  select_top(logits, static_cast<size_t>(std::max(top_count, 0)), kernels, scratch.top, scratch.likeliest);
  sampled.top.reserve(scratch.likeliest.size());
  for (const TokenLogprob& likely : scratch.likeliest)
    sampled.top.push_back({likely.token, logprob_of(likely.logprob)});
}

}  // namespace

SampledToken sample_token(LogitRow logits, const SampleRow& row, SamplerScratch& scratch, const LogitKernels& kernels) {
  SLUICE_CHECK(!logits.values.empty() && row.params != nullptr);
  SLUICE_CHECK(logits.block_tops.size() == logit_block_count(logits.values.size()));
  SLUICE_CHECK(row.scored_token < 0 || static_cast<size_t>(row.scored_token) < logits.values.size());
  const bool is_scored = row.scored_token >= 0;
  SampledToken sampled;
  sampled.token = is_scored ? row.scored_token : draw_with_penalties(logits, row, kernels, scratch);
  if (is_scored || row.params->top_logprobs >= 0)
    add_logprobs(logits, row.params->top_logprobs, kernels, scratch, sampled);
  return sampled;
}

}  // namespace sluice::engine
