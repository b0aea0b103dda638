#include "bench/program.h"

#include <CLI/CLI.hpp>

#include "bench/compare_command.h"
#include "bench/replay_command.h"
#include "bench/run_command.h"
#include "bench/sweep_command.h"
#include "bench/trial_session.h"
#include "bench/tune_command.h"

namespace sluice::bench {

int run_program(const std::vector<std::string>& arguments, const Output& output, const Environment& environment) {
  CLI::App app("Loads a running server and measures it.", "sluice-bench");
  app.set_version_flag("--version", "sluice-bench " SLUICE_VERSION);
  app.require_subcommand(1);
  const std::string command_line = shown_command_line(arguments);
  const std::vector<Subcommand> commands{
      add_run_command(app, output, environment),
      add_replay_command(app, output, environment),
      add_sweep_command(app, output, environment, command_line),
      add_tune_command(app, output, environment, command_line),
      add_compare_command(app, output, environment, command_line),
  };
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, output.out, output.err) == 0 ? kFine : kWrongUsage;
  }
  for (const Subcommand& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kWrongUsage;
}

}  // namespace sluice::bench
