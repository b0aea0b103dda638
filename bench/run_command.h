#pragma once

#include <string>

#include "bench/run_config.h"
#include "bench/subcommand.h"
#include "bench/target_options.h"

namespace sluice::bench {

/// The command line of `sluice-bench run`.
struct RunOptions {
  TargetConfig target;
  RunConfig load;
  std::string json_file;  ///< empty: none
};

void add_run_options(CLI::App& command, RunOptions& options);

Subcommand add_run_command(CLI::App& program, const Output& output, const Environment& environment);

}  // namespace sluice::bench
