#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "scheduler/step_prices.h"

namespace sluice::scheduler {

/// How long a step takes, learnt while serving:
///   t = a + b * prefill_tokens + c * decode_rows + d * context_tokens + e * prefill_pairs,
/// the non-negative least squares fit of the steps so far, of which older ones weigh less. One thread.
class StepTimeModel {
 public:
  /// A step of this load took so long.
  void note(const StepLoad& load, Duration took);

  /// Enough has been seen to predict at all.
  bool is_known() const { return count_ >= kStepsMin; }
  /// Whether steps with about so many pairs were seen, so that one of them can be predicted.
  bool reaches(int64_t prefill_pairs) const;
  /// Zero as long as nothing is known.
  Duration predict(const StepLoad& load) const;
  /// The most prompt tokens, at most `limit`, for which base plus these tokens, each looking at about `context` keys,
  /// stays within `target`. Tokens beyond twice what has been seen in a step are never trusted.
  int32_t prefill_tokens_within(Duration target, const StepLoad& base, int64_t context, int32_t limit) const;
  /// What has been learnt; all zero as long as nothing is known.
  StepPrices prices() const;
  /// A moving average of |predicted - actual| / actual.
  double relative_error() const { return relative_error_; }

  static constexpr int32_t kStepsMin = 8;

 private:
  static constexpr size_t kTerms = 5;
  using Terms = std::array<double, kTerms>;

  static Terms terms_of(const StepLoad& load);
  double seconds(const StepLoad& load) const;
  void fit();

  std::array<Terms, kTerms> products_{};  // of the normal equations, forgetting
  Terms targets_{};                       // the same
  Terms weights_{};                       // a .. e, of the scaled terms
  double relative_error_ = 0;
  int32_t count_ = 0;
  int32_t prefill_tokens_seen_ = 0;  // the most in one step
  int64_t prefill_pairs_seen_ = 0;   // the same
};

}  // namespace sluice::scheduler
