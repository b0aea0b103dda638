#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/trial.h"

namespace sluice::bench {

/// What the tuner may try, and how long.
struct TunerConfig {
  int32_t max_running_max = 64;          ///< tries 1 to this
  std::vector<int32_t> tokens_per_step;  ///< ascending, not empty; those below max_running are left out
  std::vector<double> tpot_target_ms;    ///< from the loosest (0: none) to the tightest, not empty
  std::vector<LimitSetting> starts;      ///< tokens and targets to search max_running with; among the above
  Duration budget = std::chrono::seconds(240);
  Duration last_word{};  ///< kept of it at the end, for putting the limits back
};

/// One setting and all that was measured of it.
struct TunedArm {
  LimitSetting setting;
  std::vector<Trial> trials;  ///< in the order of time
  Estimate goodput;           ///< requests/s within the SLO, over all trials, drift between trials included
  std::optional<int32_t> concurrency = {};  ///< how it was loaded; for reports, filled in by who ran the trials
  std::optional<double> rate = {};
};

enum class TuneVerdict {
  kFound,         ///< better than everything else tried, beyond chance, or as good as what it ties with
  kNotToldApart,  ///< the best seen, but the budget ended before others could be excluded
  kNothingGood,   ///< no request was within the SLO under any setting
  kTooLittleTime  ///< the search itself had not come to its end
};

struct TuneOutcome {
  TuneVerdict verdict = TuneVerdict::kTooLittleTime;
  std::optional<LimitSetting> best;
  std::vector<LimitSetting> not_told_apart;  ///< from the best, though less good as seen
  std::vector<TunedArm> arms;                ///< by setting
  std::vector<LimitSetting> order;           ///< of the trials
  double drift = 0;  ///< relative spread between trials of one setting beyond what their batches explain
  double elapsed_s = 0;
  Status failure;  ///< why it ended early, if a trial failed
};

/// What is going on, for people.
using TuneProgress = std::function<void(const LimitSetting& setting, const std::string& why)>;

/// Finds the setting with the highest goodput by measuring, within the budget.
///
/// 1. max_running on a grid of powers of four, from each start, then between the neighbours of the best until steps are
/// a fifth;
/// 2. from there the TPOT target and the tokens per step, each uphill from where it is; when one moved, max_running's
///    neighbours again;
/// 3. the best few again and again in turn, until their intervals part or time ends.
/// A trial ends early when its interval lies below the best one's. The best is measured again between the others, so
/// that drift of the machine is seen and widens the intervals. Differences within chance and under 2 % are ties, and a
/// tie goes to the smaller batch.
TuneOutcome tune(const TunerConfig& config, const RunTrial& run, const Clock& clock, const TuneProgress& progress);

}  // namespace sluice::bench
