#include "engine/cuda/sampling_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "base/counter_random.h"

namespace sluice::engine::cuda {
namespace {

static_assert(kTopLogprobsRoom == SamplingParams::kTopLogprobsMax);

constexpr int32_t kNowhere = -1;

template <typename... Arrays>
void clear_all(Arrays&... arrays) {
  (arrays.clear(), ...);
}

/// Below it every weight, with its rounding, is less than min_p (engine/sampler.cpp).
double depth_of(float min_p) {
  constexpr double kMargin = 1e-3;
  return kMargin - std::log(static_cast<double>(min_p));
}

}  // namespace

void SamplingInputs::fill(std::span<const SampleRow> rows, int32_t vocab_size) {
  clear_all(temperature, inverse_temperature, top_k, top_p, min_p, min_p_depth, unit, scored_token, top_logprobs);
  clear_all(repetition, presence, frequency);
  clear_all(history_begin, history_token, history_count, bias_begin, bias_token, bias);
  if (places_.size() != static_cast<size_t>(vocab_size)) places_.assign(static_cast<size_t>(vocab_size), kNowhere);
  for (const SampleRow& row : rows) {
    history_begin.push_back(static_cast<int32_t>(history_token.size()));
    bias_begin.push_back(static_cast<int32_t>(bias_token.size()));
    add_draw(row);
    if (row.scored_token >= 0) continue;
    if (row.params->has_penalties()) add_history(row);
    add_biases(row);
  }
  history_begin.push_back(static_cast<int32_t>(history_token.size()));
  bias_begin.push_back(static_cast<int32_t>(bias_token.size()));
}

int64_t SamplingInputs::history_max(const SampleRow& row, int32_t vocab_size) {
  if (row.scored_token >= 0 || !row.params->has_penalties()) return 0;
  return std::min<int64_t>(static_cast<int64_t>(row.prompt.size() + row.output.size()), vocab_size);
}

void SamplingInputs::add_draw(const SampleRow& row) {
  const SamplingParams& params = *row.params;
  const bool is_greedy = params.temperature < SamplingParams::kGreedyTemperature;
  temperature.push_back(params.temperature);
  inverse_temperature.push_back(is_greedy ? 0.0F : 1.0F / params.temperature);
  top_k.push_back(is_greedy ? 1 : params.top_k);
  top_p.push_back(params.top_p);
  min_p.push_back(params.min_p);
  min_p_depth.push_back(depth_of(params.min_p));
  unit.push_back(random_unit(row.seed, row.position));
  scored_token.push_back(row.scored_token);
  top_logprobs.push_back(params.top_logprobs);
  repetition.push_back(params.repetition_penalty);
  presence.push_back(params.presence_penalty);
  frequency.push_back(params.frequency_penalty);
}

void SamplingInputs::add_history(const SampleRow& row) {
  const size_t begin = history_token.size();
  const auto place_of = [&](int32_t token) {
    SLUICE_CHECK(token >= 0 && static_cast<size_t>(token) < places_.size());
    int32_t& place = places_[static_cast<size_t>(token)];
    if (place == kNowhere) {
      place = static_cast<int32_t>(history_token.size());
      history_token.push_back(token);
      history_count.push_back(0);
    }
    return static_cast<size_t>(place);
  };
  for (const int32_t token : row.output) ++history_count[place_of(token)];
  for (const int32_t token : row.prompt) place_of(token);
  for (size_t i = begin; i < history_token.size(); ++i) places_[static_cast<size_t>(history_token[i])] = kNowhere;
}

void SamplingInputs::add_biases(const SampleRow& row) {
  std::vector<LogitBias> biases = row.params->logit_bias;
  // Equal tokens come side by side, and keep their order: the logit is clamped after each.
  std::stable_sort(biases.begin(), biases.end(),
                   [](const LogitBias& a, const LogitBias& b) { return a.token < b.token; });
  for (const LogitBias& entry : biases) {
    bias_token.push_back(entry.token);
    bias.push_back(entry.bias);
  }
}

}  // namespace sluice::engine::cuda
