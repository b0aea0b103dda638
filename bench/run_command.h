#pragma once

#include "bench/measured_run.h"

namespace sluice::bench {

/// The command line of `sluice-bench run`.
struct RunOptions {
  TargetConfig target;
  RunConfig load;
  RunOutputs outputs;
};

void add_run_options(CLI::App& command, RunOptions& options);

Subcommand add_run_command(CLI::App& program, const Output& output, const Environment& environment);

}  // namespace sluice::bench
