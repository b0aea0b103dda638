#include "bench/tuner_arms.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

std::vector<TrialBatch> batches_of(const std::vector<Trial>& trials) {
  std::vector<TrialBatch> all;
  for (const Trial& trial : trials) all.insert(all.end(), trial.batches.begin(), trial.batches.end());
  return all;
}

}  // namespace

void TunerArms::add(const LimitSetting& setting, Trial trial) {
  trials_[setting].push_back(std::move(trial));
  pool_drift();
}

Estimate TunerArms::goodput(const LimitSetting& setting) const {
  const auto found = trials_.find(setting);
  if (found == trials_.end()) return {};
  const Estimate batches = goodput_of(batches_of(found->second));
  if (drift_ <= 0 || batches.freedom <= 0) return batches;
  // The error of the batches and that of drift are independent: variances add, and degrees of freedom by Satterthwaite.
  const double within = batches.standard_error * batches.standard_error;
  const double between = drift_ * drift_ * batches.mean * batches.mean / static_cast<double>(found->second.size());
  const double sum = within + between;
  return {.mean = batches.mean,
          .standard_error = std::sqrt(sum),
          .freedom = sum * sum / (within * within / batches.freedom + between * between / drift_freedom_)};
}

LimitSetting TunerArms::best() const {
  LimitSetting best = trials_.begin()->first;
  for (const auto& [setting, trials] : trials_) {
    if (goodput(setting).mean > goodput(best).mean) best = setting;
  }
  return best;
}

std::vector<LimitSetting> TunerArms::not_below(const LimitSetting& best) const {
  std::vector<LimitSetting> found;
  for (const auto& [setting, trials] : trials_) {
    if (setting != best && !is_surely_greater(goodput(best), goodput(setting))) found.push_back(setting);
  }
  std::stable_sort(found.begin(), found.end(),
                   [this](const LimitSetting& a, const LimitSetting& b) { return goodput(a).mean > goodput(b).mean; });
  return found;
}

std::vector<LimitSetting> TunerArms::settings() const {
  std::vector<LimitSetting> all;
  all.reserve(trials_.size());
  for (const auto& [setting, trials] : trials_) all.push_back(setting);
  return all;
}

size_t TunerArms::trial_count(const LimitSetting& setting) const {
  const auto found = trials_.find(setting);
  return found == trials_.end() ? 0 : found->second.size();
}

void TunerArms::pool_drift() {
  double squares = 0;
  double freedom = 0;
  for (const auto& [setting, trials] : trials_) {
    const double mean = goodput_of(batches_of(trials)).mean;
    if (trials.size() < 2 || mean <= 0) continue;
    for (const Trial& trial : trials) {
      const Estimate one = goodput_of(trial.batches);
      const double deviation = one.mean / mean - 1;
      const double explained = one.standard_error / mean;
      squares += deviation * deviation - explained * explained * (1 - 1.0 / static_cast<double>(trials.size()));
    }
    freedom += static_cast<double>(trials.size() - 1);
  }
  drift_ = freedom > 0 ? std::sqrt(std::max(0.0, squares / freedom)) : 0;
  drift_freedom_ = freedom;
}

std::vector<TunedArm> TunerArms::arms() const {
  std::vector<TunedArm> arms;
  for (const auto& [setting, trials] : trials_) {
    arms.push_back({.setting = setting, .trials = trials, .goodput = goodput(setting)});
  }
  return arms;
}

}  // namespace sluice::bench
