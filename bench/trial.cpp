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

namespace {

Estimate rate_of(const std::vector<TrialBatch>& batches, int64_t TrialBatch::*counted) {
  double total = 0;
  double seconds = 0;
  for (const TrialBatch& batch : batches) {
    total += static_cast<double>(batch.*counted);
    seconds += batch.seconds;
  }
  if (seconds <= 0) return {};
  const auto count = static_cast<double>(batches.size());
  const double rate = total / seconds;
  Estimate estimate{.mean = rate, .standard_error = 0, .freedom = count - 1};
  if (batches.size() < 2) return estimate;
  double squares = 0;
  for (const TrialBatch& batch : batches) {
    const double residual = static_cast<double>(batch.*counted) - rate * batch.seconds;
    squares += residual * residual;
  }
  constexpr double kHalfARequest = 0.25;  // squared
  const double variance = std::max(squares / (count - 1), kHalfARequest);
  estimate.standard_error = std::sqrt(variance / count) * count / seconds;
  return estimate;
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Estimate goodput_of(const std::vector<TrialBatch>& batches) {
  return rate_of(batches, &TrialBatch::good);
}

Estimate throughput_of(const std::vector<TrialBatch>& batches) {
  return rate_of(batches, &TrialBatch::whole);
}

Trial merged(const std::vector<Trial>& trials) {
  Trial all;
  for (const Trial& trial : trials) {
    all.batches.insert(all.batches.end(), trial.batches.begin(), trial.batches.end());
    const double measured_s = all.measured_s + trial.measured_s;
    const double weight = measured_s > 0 ? trial.measured_s / measured_s : 0;
    for (const auto figure : {&Trial::kv_used_share, &Trial::kv_reserved_share, &Trial::running_mean}) {
      all.*figure += weight * (trial.*figure - all.*figure);
    }
    for (const auto figure : {&Trial::kv_used_share_max, &Trial::slip_p99_ms}) {
      all.*figure = std::max(all.*figure, trial.*figure);
    }
    for (const auto count :
         {&Trial::requests, &Trial::errors, &Trial::output_tokens, &Trial::ttft_kept, &Trial::tpot_kept}) {
      all.*count += trial.*count;
    }
    all.measured_s = measured_s;
    all.settle_s += trial.settle_s;
    append(all.ttft_ms, trial.ttft_ms);
    append(all.tpot_ms, trial.tpot_ms);
    if (all.first_error.empty()) all.first_error = trial.first_error;
    if (all.client_limit.empty()) all.client_limit = trial.client_limit;
  }
  return all;
}

}  // namespace sluice::bench
