#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "bench/load_runner.h"
#include "bench/run_config.h"
#include "bench/slo.h"
#include "bench/target.h"
#include "bench/trial.h"
#include "bench/trial_limits.h"
#include "bench/trial_recorder.h"

namespace sluice::bench {

/// One point to try: the limits, if they are to be set, and how it is loaded.
struct TrialPoint {
  std::optional<LimitSetting> limits;
  std::optional<int32_t> concurrency;  ///< a closed loop of so many, or
  std::optional<double> rate;          ///< Poisson arrivals per second
};

/// Runs trials against a server: sets the limits, loads it, and cuts off what is in flight as soon as enough is known,
/// so that no request sees two settings. One thread.
class TrialRunner {
 public:
  struct Parts {
    LoadRunner& runner;
    Target& target;
    const Clock& clock;
    TrialLimits* limits = nullptr;                           ///< lent; null when no limits are set
    std::function<std::optional<Fullness>()> fullness = {};  ///< asked several times a second; empty: nobody to ask
    std::function<void()> on_tick = {};                      ///< several times a second
  };

  /// What is sent is `load`'s; when, is the point's.
  TrialRunner(const Parts& parts, const RunConfig& load, const Slo& slo) : parts_(parts), load_(load), slo_(slo) {}

  /// kCancelled when the runner was stopped; a failure when every request fails.
  Result<Trial> run(const TrialPoint& point, const TrialLength& length);

 private:
  RunConfig load_of(const TrialPoint& point, const TrialLength& length);

  const Parts parts_;
  const RunConfig load_;
  const Slo slo_;
  bool is_warm_ = false;
};

}  // namespace sluice::bench
