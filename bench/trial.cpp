#include "bench/trial.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace sluice::bench {

std::string describe(const LimitSetting& setting) {
  std::ostringstream text;
  text << setting.max_running << " running, " << setting.tokens_per_step << " tokens/step, ";
  if (setting.tpot_target_ms > 0) {
    text << "TPOT target " << setting.tpot_target_ms << " ms";
  } else {
    text << "no TPOT target";
  }
  return text.str();
}

Estimate goodput_of(const std::vector<TrialBatch>& batches) {
  double good = 0;
  double seconds = 0;
  for (const TrialBatch& batch : batches) {
    good += static_cast<double>(batch.good);
    seconds += batch.seconds;
  }
  if (seconds <= 0) return {};
  const auto count = static_cast<double>(batches.size());
  const double rate = good / seconds;
  Estimate estimate{.mean = rate, .standard_error = 0, .freedom = count - 1};
  if (batches.size() < 2) return estimate;
  double squares = 0;
  for (const TrialBatch& batch : batches) {
    const double residual = static_cast<double>(batch.good) - rate * batch.seconds;
    squares += residual * residual;
  }
  constexpr double kHalfARequest = 0.25;  // squared
  const double variance = std::max(squares / (count - 1), kHalfARequest);
  estimate.standard_error = std::sqrt(variance / count) * count / seconds;
  return estimate;
}

}  // namespace sluice::bench
