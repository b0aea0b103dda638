#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/compare_rounds.h"
#include "bench/run_config.h"
#include "bench/subcommand.h"
#include "bench/target_options.h"

namespace sluice::bench {

/// The command line of `sluice-bench compare`.
struct CompareOptions {
  std::vector<Contender> contenders;  ///< the first is what the others are held against
  TargetConfig caller;                ///< who calls, the same for all; what is for HTTP holds for those servers
  RunConfig load;                     ///< of each server in each round
  int32_t rounds = 5;
  std::string report_path;  ///< empty: none
  std::string json_path;    ///< empty: none

  Status validate() const;
};

/// `command_line` is shown in reports.
Subcommand add_compare_command(CLI::App& program, const Output& output, const Environment& environment,
                               const std::string& command_line);

}  // namespace sluice::bench
