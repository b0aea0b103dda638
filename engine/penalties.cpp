#include "engine/penalties.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace sluice::engine {
namespace {

bool has_penalties(const SamplingParams& params) {
  return params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F || params.frequency_penalty != 0.0F;
}

float clamp_finite(float value) {
  constexpr float kMax = std::numeric_limits<float>::max();
  return std::clamp(value, -kMax, kMax);
}

/// The logit of a token that stands `count` times in the output, and in the prompt if not there.
float penalised(float logit, int32_t count, const SamplingParams& params) {
  logit = logit > 0.0F ? logit / params.repetition_penalty : logit * params.repetition_penalty;
  if (count > 0) logit -= params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
  return clamp_finite(logit);
}

/// Changes each distinct token of the history once, in time proportional to the history. Leaves scratch.counts all
/// zero.
void apply_penalties(const SampleRow& row, SamplerScratch& scratch) {
  constexpr int32_t kDone = -1;
  std::vector<float>& logits = scratch.adjusted;
  std::vector<int32_t>& counts = scratch.counts;
  if (counts.size() != logits.size()) counts.assign(logits.size(), 0);
  const auto count_of = [&](int32_t token) -> int32_t& {
    SLUICE_CHECK(token >= 0 && static_cast<size_t>(token) < counts.size());
    return counts[static_cast<size_t>(token)];
  };
  const auto penalise = [&](int32_t token) {
    int32_t& count = count_of(token);
    if (count == kDone) return;
    float& logit = logits[static_cast<size_t>(token)];
    logit = penalised(logit, count, *row.params);
    count = kDone;
  };

  for (const int32_t token : row.output) ++count_of(token);
  for (const int32_t token : row.output) penalise(token);
  for (const int32_t token : row.prompt) penalise(token);
  for (const int32_t token : row.output) count_of(token) = 0;
  for (const int32_t token : row.prompt) count_of(token) = 0;
}

void apply_bias(const std::vector<LogitBias>& biases, std::span<float> logits) {
  for (const LogitBias& bias : biases) {
    SLUICE_CHECK(bias.token >= 0 && static_cast<size_t>(bias.token) < logits.size());
    float& logit = logits[static_cast<size_t>(bias.token)];
    logit = clamp_finite(logit + bias.bias);
  }
}

}  // namespace

std::span<const float> adjusted_logits(std::span<const float> logits, const SampleRow& row, SamplerScratch& scratch) {
  const SamplingParams& params = *row.params;
  const bool has_history = !row.prompt.empty() || !row.output.empty();
  const bool is_penalised = has_penalties(params) && has_history;
  if (!is_penalised && params.logit_bias.empty()) return logits;
  scratch.adjusted.assign(logits.begin(), logits.end());
  if (is_penalised) apply_penalties(row, scratch);
  apply_bias(params.logit_bias, scratch.adjusted);
  return scratch.adjusted;
}

}  // namespace sluice::engine
