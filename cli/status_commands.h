#pragma once

#include "cli/connection_options.h"
#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// Options of the commands that ask the daemon about itself.
struct StatusCommandOptions {
  ConnectionOptions connection;
  bool json = false;
};

void add_status_options(CLI::App& app, StatusCommandOptions& options);

/// How busy the daemon is: a few lines, or one JSON object with the names of GetLoadResponse.
ExitCode run_load(const StatusCommandOptions& options, const Terminal& terminal);
/// What is served: a few lines, or a JSON list with one object with the names of GetModelResponse.
ExitCode run_models(const StatusCommandOptions& options, const Terminal& terminal);

/// Whether grpc.health.v1 says that the daemon serves, for who looks after it: it takes no key. Waits for it as
/// long as --wait-ms or --timeout-ms say, or for a second.
ExitCode run_health(const ConnectionOptions& options, const Terminal& terminal);

}  // namespace sluice::cli
