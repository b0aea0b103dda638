#include "bench/measured_run.h"

#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/signal_watcher.h"
#include "bench/cross_check.h"
#include "bench/load_runner.h"
#include "bench/progress_bar.h"
#include "bench/report_output.h"
#include "bench/request_log.h"

namespace sluice::bench {
namespace {

/// Opened before the run: a wrong path should not cost a long measurement.
Status open_json(const std::string& path, std::ofstream& file) {
  if (path.empty()) return {};
  file.open(path);
  return file.good() ? Status() : failed_precondition("cannot write --json file " + path);
}

Status write_json(const std::string& text, const std::string& path, std::ofstream& file) {
  if (path.empty()) return {};
  file << text << std::endl;
  return file.good() ? Status() : unavailable("writing " + path + " failed");
}

/// What one run is measured with. Lent.
struct Instruments {
  LoadRunner& runner;
  Target& target;
  CrossCheck* cross_check;  ///< null: none
  RequestLog& log;
};

Result<Report> measure(const RunConfig& load, const Instruments& instruments, const Output& output,
                       const Clock& clock) {
  ProgressBar bar(output.err, output.err_is_terminal);
  const RunHooks hooks{.on_begin =
                           [&] {
                             if (instruments.cross_check != nullptr) instruments.cross_check->begin();
                             instruments.log.begin(clock.now());
                           },
                       .on_outcome = [&](const RequestOutcome& outcome) { instruments.log.add(outcome); },
                       .on_tick =
                           [&bar](const Progress& progress) {
                             bar.draw(progress.share, progress.requests);
                             return true;
                           }};
  Result<Report> report = instruments.runner.measure(load, instruments.target, hooks);
  bar.clear();
  return report;
}

}  // namespace

void add_output_options(CLI::App& command, RunOutputs& outputs) {
  command.add_option("--json", outputs.json_path, "Also write the figures to this file")->type_name("FILE");
  command.add_option("--csv", outputs.csv_path, "Also write a row for each request to this file")->type_name("FILE");
  command
      .add_option("--metrics", outputs.metrics_url,
                  "Compare with a Sluice daemon's own histograms, read here [a Sluice target's own, if it is http://]")
      ->type_name("URL");
}

Result<ExitCode> run_once(const TargetConfig& target_config, const RunConfig& load, const RunOutputs& outputs,
                          const Output& output, const Environment& environment) {
  std::ofstream json_file;
  RequestLog log;
  SLUICE_RETURN_IF_ERROR(open_json(outputs.json_path, json_file));
  SLUICE_RETURN_IF_ERROR(log.open(outputs.csv_path, load.slo));
  LoadRunner runner(environment.clock, environment.client_cpu);
  client::Cancellation cancellation;
  // Before the target, which starts threads.
  const SignalWatcher watcher([&](int) {
    cancellation.cancel();
    runner.stop();
  });
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Target> target, open_target(target_config, cancellation));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<CrossCheck> cross_check,
                          CrossCheck::open(outputs.metrics_url, target_config, cancellation));
  const Instruments instruments{.runner = runner, .target = *target, .cross_check = cross_check.get(), .log = log};
  SLUICE_ASSIGN_OR_RETURN(const Report report, measure(load, instruments, output, environment.clock));
  const auto server = cross_check ? std::optional(cross_check->end(report)) : std::nullopt;
  const Told told{
      .load = load, .address = target_config.address, .model = target->model(), .report = report, .server = server};
  print_report(output.out, told);
  SLUICE_RETURN_IF_ERROR(write_json(report_to_json(told), outputs.json_path, json_file));
  SLUICE_RETURN_IF_ERROR(log.close());
  if (runner.stopped()) return kInterrupted;
  return report.errors == report.requests ? kFailed : kFine;
}

}  // namespace sluice::bench
