#include "bench/run_command.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "bench/load_options.h"

namespace sluice::bench {

void add_run_options(CLI::App& command, RunOptions& options) {
  add_target_options(command, options.target);
  add_load_options(command, options.load);
  add_request_options(command, options.load);
  add_slo_options(command, options.load);
  add_output_options(command, options.outputs);
}

Subcommand add_run_command(CLI::App& program, const Output& output, const Environment& environment) {
  const auto options = std::make_shared<RunOptions>();
  options->load.seed = environment.fresh_seed;
  CLI::App* const command = program.add_subcommand("run", "Send a load to a server and print throughput and latencies");
  add_run_options(*command, *options);
  return {.app = command, .run = [options, output, environment] {
            return exit_code_of(output, options->load.validate(), [&] {
              return run_once(options->target, options->load, options->outputs, output, environment);
            });
          }};
}

}  // namespace sluice::bench
