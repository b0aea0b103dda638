#include "engine/penalties.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace sluice::engine {
namespace {

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

float logit_of(const LogitRow& logits, int32_t token) {
  SLUICE_CHECK(token >= 0 && static_cast<size_t>(token) < logits.values.size());
  return logits.values[static_cast<size_t>(token)];
}

void change(const LogitRow& logits, int32_t token, float logit, PenaltyScratch& scratch) {
  scratch.changes.push_back({token, logit_of(logits, token)});
  set_logit(logits, token, logit);
}

/// Changes each distinct token of the history once. Leaves scratch.counts all zero.
void penalise_history(const LogitRow& logits, const SampleRow& row, PenaltyScratch& scratch) {
  constexpr int32_t kDone = -1;
  std::vector<int32_t>& counts = scratch.counts;
  if (counts.size() != logits.values.size()) counts.assign(logits.values.size(), 0);
  const auto count_of = [&](int32_t token) -> int32_t& {
    SLUICE_CHECK(token >= 0 && static_cast<size_t>(token) < counts.size());
    return counts[static_cast<size_t>(token)];
  };
  const auto penalise = [&](int32_t token) {
    int32_t& count = count_of(token);
    if (count == kDone) return;
    change(logits, token, penalised(logit_of(logits, token), count, *row.params), scratch);
    count = kDone;
  };

  for (const int32_t token : row.output) ++count_of(token);
  for (const int32_t token : row.output) penalise(token);
  for (const int32_t token : row.prompt) penalise(token);
  for (const int32_t token : row.output) count_of(token) = 0;
  for (const int32_t token : row.prompt) count_of(token) = 0;
}

}  // namespace

void apply_penalties(const LogitRow& logits, const SampleRow& row, PenaltyScratch& scratch) {
  scratch.changes.clear();
  if (row.params->has_penalties()) penalise_history(logits, row, scratch);
  for (const LogitBias& bias : row.params->logit_bias) {
    change(logits, bias.token, clamp_finite(logit_of(logits, bias.token) + bias.bias), scratch);
  }
}

void undo_penalties(const LogitRow& logits, PenaltyScratch& scratch) {
  // Backwards: a token may have been changed more than once.
  for (auto change = scratch.changes.rbegin(); change != scratch.changes.rend(); ++change) {
    set_logit(logits, change->token, change->logit);
  }
  scratch.changes.clear();
}

}  // namespace sluice::engine
