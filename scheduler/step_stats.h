#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "engine/step_costs.h"
#include "scheduler/step_histogram.h"
#include "scheduler/step_plan.h"

namespace sluice::scheduler {

/// What the steps so far were like. The loop thread notes, any thread reads.
class StepStats {
 public:
  /// A step of this plan was computed. `predicted` is zero where nothing was known; `samples` is how many tokens were
  /// drawn or scored.
  void note(const StepPlan& plan, int64_t samples, const engine::StepCosts& costs, Duration took, Duration predicted);

  StepHistogram decode_rows{kRowBounds};
  StepHistogram prefill_tokens{kTokenBounds};  ///< of steps with any
  StepHistogram tokens{kTokenBounds};          ///< both together, as vLLM counts an iteration
  StepHistogram decode_seconds{kSecondBounds};
  StepHistogram prefill_seconds{kSecondBounds};
  StepHistogram mixed_seconds{kSecondBounds};   ///< of steps with both
  StepHistogram predicted_ratio{kRatioBounds};  ///< predicted / actual seconds, where there was a prediction
  std::atomic<double> bytes{0};                 ///< that steps had to read, by StepCosts
  std::atomic<double> macs{0};                  ///< that steps had to make, by StepCosts
  std::atomic<double> last_bytes_per_second{0};
  std::atomic<double> last_macs_per_second{0};

 private:
  static constexpr std::array<double, 11> kRowBounds{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  static constexpr std::array<double, 13> kTokenBounds{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  static constexpr std::array<double, 17> kSecondBounds{0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02,
                                                        0.03,  0.05,  0.075, 0.1,   0.2,   0.5,   1,    5};
  static constexpr std::array<double, 11> kRatioBounds{0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 1.5, 2};
};

}  // namespace sluice::scheduler
