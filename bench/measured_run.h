#pragma once

#include <fstream>
#include <string>

#include "bench/run_config.h"
#include "bench/subcommand.h"
#include "bench/target_options.h"

namespace CLI {
class App;
}

namespace sluice::bench {

/// Where else the figures of a run go, and what they are held against.
struct RunOutputs {
  std::string json_path;    ///< empty: none
  std::string csv_path;     ///< empty: none
  std::string metrics_url;  ///< empty: the target's own, if it has one
};

/// --json, --csv and --metrics.
void add_output_options(CLI::App& command, RunOutputs& outputs);

/// One load against one target from its connection to its report: what `run` and the live `replay` have in common. An
/// interrupt ends it with a report of what there is.
Result<ExitCode> run_once(const TargetConfig& target, const RunConfig& load, const RunOutputs& outputs,
                          const Output& output, const Environment& environment);

}  // namespace sluice::bench
