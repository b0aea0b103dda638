#pragma once

#include <map>
#include <vector>

#include "bench/trial.h"
#include "bench/tuner.h"

namespace sluice::bench {

/// All that a search has measured, by setting.
class TunerArms {
 public:
  void add(const LimitSetting& setting, Trial trial);

  bool has(const LimitSetting& setting) const { return trials_.contains(setting); }
  bool empty() const { return trials_.empty(); }
  /// Over all trials of a setting, its error widened by drift(); unknown for one that was never tried.
  Estimate goodput(const LimitSetting& setting) const;
  /// The one with the highest mean; of equals the smaller. Not empty.
  LimitSetting best() const;
  /// Those that are not surely below `best`, without it, best first.
  std::vector<LimitSetting> not_below(const LimitSetting& best) const;
  std::vector<LimitSetting> settings() const;
  size_t trial_count(const LimitSetting& setting) const;

  /// How far trials of one setting lie apart beyond what their batches explain, as a share of the goodput: the standard
  /// deviation, pooled over the settings that were tried more than once; 0 when none was.
  double drift() const { return drift_; }

  std::vector<TunedArm> arms() const;

 private:
  void pool_drift();

  std::map<LimitSetting, std::vector<Trial>> trials_;
  double drift_ = 0;
  double drift_freedom_ = 0;
};

}  // namespace sluice::bench
