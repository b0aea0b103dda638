#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/subcommand.h"
#include "bench/trial_session.h"

namespace sluice::bench {

/// The command line of `sluice-bench sweep`. Every combination of the lists is tried.
struct SweepOptions {
  TrialOptions trial;
  std::vector<int32_t> concurrency;  ///< closed loops; empty with limits: as many as may run
  std::vector<double> rate;          ///< open loops, instead
  std::vector<int32_t> max_running;  ///< empty: the daemon's, like the next two
  std::vector<int32_t> tokens_per_step;
  std::vector<double> tpot_target_ms;
  int32_t batches = 5;                             ///< of each trial
  Duration trial_max = std::chrono::seconds(120);  ///< a trial that takes longer ends with what it has
  std::string csv_path;

  bool sets_limits() const { return !max_running.empty() || !tokens_per_step.empty() || !tpot_target_ms.empty(); }
  Status validate() const;
};

/// All combinations; those with fewer tokens than rows are left out, as no daemon takes them. `before` are the daemon's
/// own limits, where limits are set.
std::vector<TrialPoint> sweep_points(const SweepOptions& options, const LimitSetting& before);

/// "1,2,8..64": numbers, and from A doubling up to B.
Result<std::vector<int32_t>> parse_counts(const std::string& text);

/// `command_line` is shown in reports.
Subcommand add_sweep_command(CLI::App& program, const Output& output, const Environment& environment,
                             const std::string& command_line);

}  // namespace sluice::bench
