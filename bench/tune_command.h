#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/subcommand.h"
#include "bench/trial_session.h"
#include "bench/tuner.h"

namespace sluice::bench {

/// The command line of `sluice-bench tune`.
struct TuneOptions {
  TrialOptions trial;
  Duration budget = std::chrono::seconds(240);
  std::optional<double> rate;              ///< open loop instead of a closed one
  std::optional<int32_t> max_running_max;  ///< else the daemon's
  std::vector<int32_t> tokens_per_step;    ///< else from the daemon's downwards
  std::vector<double> tpot_target_ms;      ///< else none, and below the SLO's TPOT
  bool applies = false;                    ///< leaves the best set

  Status validate() const;
};

/// What is searched, given the limits that the daemon has.
TunerConfig tuner_config(const TuneOptions& options, const LimitSetting& before);

/// `command_line` is shown in reports.
Subcommand add_tune_command(CLI::App& program, const Output& output, const Environment& environment,
                            const std::string& command_line);

}  // namespace sluice::bench
