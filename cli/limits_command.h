#pragma once

#include "cli/connection_options.h"
#include "cli/terminal.h"
#include "sluice/v1/control.pb.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// The command line of `sluice limits`; what is given is changed.
struct LimitsOptions {
  ConnectionOptions connection;
  bool json = false;
  v1::Limits wanted;  ///< nothing is set when nothing was given
};

void add_limits_options(CLI::App& app, LimitsOptions& options);

/// Shows the daemon's limits, after changing those that were given.
ExitCode run_limits(const LimitsOptions& options, const Terminal& terminal);

}  // namespace sluice::cli
