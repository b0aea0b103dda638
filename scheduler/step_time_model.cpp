#include "scheduler/step_time_model.h"

#include <algorithm>
#include <cmath>

namespace sluice::scheduler {
namespace {

constexpr double kMsPerSecond = 1e3;
constexpr double kMemory = 0.995;  // per step: the last 200 or so weigh
constexpr double kErrorMemory = 0.95;
constexpr int kSweeps = 8;  // of coordinate descent; each step starts from the last one's weights
constexpr double kRidge = 1e-6;
constexpr double kPrefillScale = 256;
constexpr double kRowScale = 16;
constexpr double kContextScale = 8192;
constexpr double kPairScale = 65536;
constexpr size_t kPrefillTerm = 1;
constexpr size_t kPairTerm = 4;
constexpr int64_t kReach = 16;  // times what was seen in a step
static_assert(kPairScale / kPrefillScale == 256);

}  // namespace

// Scaled so that all terms are of the order of one.
StepTimeModel::Terms StepTimeModel::terms_of(const StepLoad& load) {
  return {1.0, load.prefill_tokens / kPrefillScale, load.decode_rows / kRowScale,
          static_cast<double>(load.context_tokens) / kContextScale,
          static_cast<double>(load.prefill_pairs) / kPairScale};
}

StepPrices StepTimeModel::prices() const {
  if (!is_known()) return {};
  return {.fixed_ms = kMsPerSecond * weights_[0],
          .prefill_token_ms = kMsPerSecond * weights_[1] / kPrefillScale,
          .decode_row_ms = kMsPerSecond * weights_[2] / kRowScale,
          .context_token_ms = kMsPerSecond * weights_[3] / kContextScale,
          .prefill_pair_ms = kMsPerSecond * weights_[4] / kPairScale};
}

double StepTimeModel::seconds(const StepLoad& load) const {
  const Terms terms = terms_of(load);
  double sum = 0;
  for (size_t i = 0; i < kTerms; ++i) sum += weights_[i] * terms[i];
  return sum;
}

void StepTimeModel::note(const StepLoad& load, Duration took) {
  // A price is learnt from one unit at least, so no price is above the longest step.
  const double actual = std::clamp(to_seconds(took), 1e-7, StepPrices::kMax / kMsPerSecond);
  if (is_known()) {
    const double error = std::abs(seconds(load) - actual) / actual;
    relative_error_ = kErrorMemory * relative_error_ + (1 - kErrorMemory) * std::min(error, 1.0);
  }
  const Terms terms = terms_of(load);
  // Relative errors are what counts, or the longest steps alone would decide.
  const double weight = 1 / (actual * actual);
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) products_[i][j] = kMemory * products_[i][j] + weight * terms[i] * terms[j];
    targets_[i] = kMemory * targets_[i] + weight * terms[i] * actual;
  }
  ++count_;
  prefill_tokens_seen_ = std::max(prefill_tokens_seen_, load.prefill_tokens);
  prefill_pairs_seen_ = std::max(prefill_pairs_seen_, load.prefill_pairs);
  fit();
}

// Non-negative least squares by coordinate descent (Franc, Hlavac and Navara 2005): a negative price would let the
// scheduler believe that more work makes a step shorter.
void StepTimeModel::fit() {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i < kTerms; ++i) {
      double rest = targets_[i];
      for (size_t j = 0; j < kTerms; ++j) rest -= j == i ? 0 : products_[i][j] * weights_[j];
      const double scale = products_[i][i] * (1 + kRidge);
      if (scale > 0) weights_[i] = std::max(0.0, rest / scale);
      // Short prompts tell tokens and pairs hardly apart, and a long one has a thousand times the pairs. A pair costs a
      // dot product and a token all the weights, so that it never comes near a 256th of one.
      if (i == kPairTerm) weights_[i] = std::min(weights_[i], weights_[kPrefillTerm]);
    }
  }
}

bool StepTimeModel::reaches(int64_t prefill_pairs) const {
  return is_known() && prefill_pairs <= kReach * prefill_pairs_seen_;
}

Duration StepTimeModel::predict(const StepLoad& load) const {
  if (!is_known()) return Duration::zero();
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds(load)));
}

int32_t StepTimeModel::prefill_tokens_within(Duration target, const StepLoad& base, int64_t context,
                                             int32_t limit) const {
  const int32_t trusted = std::min(limit, 2 * prefill_tokens_seen_);
  if (!is_known()) return trusted;
  const double left = to_seconds(target) - seconds(base);
  const double per_token = weights_[1] / kPrefillScale + weights_[4] * static_cast<double>(context) / kPairScale;
  if (left <= 0) return 0;
  if (per_token * trusted <= left) return trusted;
  return static_cast<int32_t>(left / per_token);
}

}  // namespace sluice::scheduler
