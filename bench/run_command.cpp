#include "bench/run_command.h"

#include <fstream>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/signal_watcher.h"
#include "bench/load_options.h"
#include "bench/load_runner.h"
#include "bench/progress_bar.h"
#include "bench/report_output.h"

namespace sluice::bench {
namespace {

/// Opened before the run: a wrong path should not cost a long measurement.
Status open_json(const std::string& name, std::ofstream& file) {
  if (name.empty()) return {};
  file.open(name);
  return file.good() ? Status() : failed_precondition("cannot write --json file " + name);
}

Status write_json(const std::string& text, const std::string& name, std::ofstream& file) {
  if (name.empty()) return {};
  file << text << std::endl;
  return file.good() ? Status() : unavailable("writing " + name + " failed");
}

Result<Report> measure(const RunOptions& options, LoadRunner& runner, Target& target, const Output& output) {
  ProgressBar bar(output.err, output.err_is_terminal);
  const auto on_tick = [&bar](const Progress& progress) {
    bar.draw(progress.share, progress.requests);
    return true;
  };
  Result<Report> report = runner.measure(options.load, target, {.on_tick = on_tick});
  bar.clear();
  return report;
}

Result<ExitCode> run(const RunOptions& options, const Output& output, const Clock& clock) {
  std::ofstream json_file;
  SLUICE_RETURN_IF_ERROR(open_json(options.json_file, json_file));
  LoadRunner runner(clock);
  client::Cancellation cancellation;
  // Before the target, which starts threads.
  const SignalWatcher watcher([&](int) {
    cancellation.cancel();
    runner.stop();
  });
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Target> target, open_target(options.target, cancellation));
  SLUICE_ASSIGN_OR_RETURN(const Report report, measure(options, runner, *target, output));
  print_report(output.out, options.load, target->model(), report);
  const std::string json = report_to_json(options.load, options.target.address, target->model(), report);
  SLUICE_RETURN_IF_ERROR(write_json(json, options.json_file, json_file));
  if (runner.stopped()) return kInterrupted;
  return report.errors == report.requests ? kFailed : kFine;
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  add_target_options(command, options.target);
  add_load_options(command, options.load);
  add_request_options(command, options.load);
  command.add_option("--json", options.json_file, "Also write the figures to this file")->type_name("FILE");
}

Subcommand add_run_command(CLI::App& program, const Output& output, const Environment& environment) {
  const auto options = std::make_shared<RunOptions>();
  options->load.seed = environment.fresh_seed;
  CLI::App* const command =
      program.add_subcommand("run", "Send requests with random prompts and print throughput and latencies");
  add_run_options(*command, *options);
  return {.app = command, .run = [options, output, &clock = environment.clock] {
            return exit_code_of(output, options->load.validate(), [&] { return run(*options, output, clock); });
          }};
}

}  // namespace sluice::bench
