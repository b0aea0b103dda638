#include "bench/compare_command.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "base/signal_watcher.h"
#include "bench/compare_report.h"
#include "bench/html_report.h"
#include "bench/load_options.h"
#include "bench/load_runner.h"
#include "bench/progress_bar.h"
#include "bench/server_url.h"

namespace sluice::bench {
namespace {

Result<TargetConfig> target_of(const CompareOptions& options, const Contender& contender) {
  SLUICE_ASSIGN_OR_RETURN(const ServerUrl url, parse_server_url(contender.address));
  TargetConfig config = options.caller;
  config.address = contender.address;
  if (url.scheme == ServerUrl::Scheme::kGrpc) {
    const TargetConfig plain;
    config.model = plain.model;
    config.endpoint = plain.endpoint;
    config.vocab_size = plain.vocab_size;
  }
  return config;
}

std::string server_text(const Target& target, const Contender& contender) {
  const ServedModel& model = target.model();
  std::string text = model.name;
  if (!model.device.empty()) text += " on " + model.device;
  if (!model.version.empty()) text += ", version " + model.version;
  return text + ", at " + contender.address;
}

std::string load_text(const RunConfig& load) {
  std::string text = load.concurrency ? std::to_string(*load.concurrency) + " in flight"
                     : load.rate      ? tidy_number(*load.rate) + " requests/s"
                                      : std::string("open loop");
  text += load.requests  ? ", " + std::to_string(*load.requests) + " requests"
          : load.seconds ? ", " + tidy_number(*load.seconds) + " s"
                         : std::string();
  return text + ", prompts of " + load.prompt_tokens.text() + " tokens, answers of " +
         load.output_tokens.value_or(LengthDistribution::fixed(RunConfig::kOutputTokens)).text();
}

/// Everything that rounds need. The order of members is that of their making.
struct Arena {
  Arena(const CompareOptions& options_in, const Output& output_in, const Environment& environment)
      : options(options_in), output(output_in), runner(environment.clock, environment.client_cpu), watcher([this](int) {
          cancellation.cancel();
          runner.stop();
        }) {}

  const CompareOptions& options;
  const Output& output;
  client::Cancellation cancellation;
  LoadRunner runner;
  const SignalWatcher watcher;  // before the targets, which start threads
  std::vector<std::unique_ptr<Target>> targets = {};
};

Status connect_all(Arena& arena, ComparedServers& compared) {
  for (const Contender& contender : arena.options.contenders) {
    SLUICE_ASSIGN_OR_RETURN(const TargetConfig config, target_of(arena.options, contender));
    Result<std::unique_ptr<Target>> target = open_target(config, arena.cancellation);
    if (!target.ok()) return target.status().with_context(contender.name);
    compared.servers.push_back(server_text(**target, contender));
    arena.targets.push_back(std::move(*target));
  }
  compared.reports.resize(arena.targets.size());
  return {};
}

/// One server's turn in a round.
Status measure_one(Arena& arena, ComparedServers& compared, size_t round, size_t which) {
  ProgressBar bar(arena.output.err, arena.output.err_is_terminal);
  const auto on_tick = [&](const Progress& progress) {
    bar.draw(progress.share, progress.requests);
    return true;
  };
  Result<Report> report = arena.runner.measure(arena.options.load, *arena.targets[which], {.on_tick = on_tick});
  bar.clear();
  const std::string& name = arena.options.contenders[which].name;
  if (!report.ok()) return report.status().with_context(name);
  if (arena.runner.stopped()) return Status(StatusCode::kCancelled, "interrupted");
  if (report->requests > 0 && report->errors == report->requests) {
    return unavailable(name + ": every request failed: " + report->errors_by_code.begin()->second.example);
  }
  arena.output.err << "[round " << round + 1 << " of " << arena.options.rounds << "] " << name << ": "
                   << tidy_number(report->output_tokens_per_second()) << " tokens/s, TTFT p50 "
                   << tidy_number(report->ttft_ms.p50) << " ms, TPOT p50 " << tidy_number(report->tpot_ms.p50) << " ms"
                   << std::endl;
  compared.reports[which].push_back(std::move(*report));
  return {};
}

Status measure_all(Arena& arena, ComparedServers& compared) {
  for (size_t round = 0; round < static_cast<size_t>(arena.options.rounds); ++round) {
    for (const size_t which : round_order(round, arena.targets.size())) {
      SLUICE_RETURN_IF_ERROR(measure_one(arena, compared, round, which));
    }
  }
  return {};
}

Result<ExitCode> run(const CompareOptions& options, const Output& output, const Environment& environment,
                     const std::string& command_line) {
  SLUICE_RETURN_IF_ERROR(check_writable("--report", options.report_path));
  SLUICE_RETURN_IF_ERROR(check_writable("--json", options.json_path));
  Arena arena(options, output, environment);
  ComparedServers compared{.contenders = options.contenders,
                           .servers = {},
                           .reports = {},
                           .has_slo = !options.load.slo.is_empty(),
                           .load = load_text(options.load),
                           .command_line = command_line};
  SLUICE_RETURN_IF_ERROR(connect_all(arena, compared));
  const Status measured = measure_all(arena, compared);
  if (!measured.ok() && !arena.runner.stopped()) return measured;
  output.out << compare_text(compared) << std::flush;
  SLUICE_RETURN_IF_ERROR(write_file(options.json_path, compare_json(compared) + "\n"));
  SLUICE_RETURN_IF_ERROR(write_file(options.report_path, compare_html(compared)));
  return arena.runner.stopped() ? kInterrupted : kFine;
}

}  // namespace

Status CompareOptions::validate() const {
  if (contenders.size() < 2)
    return invalid_argument("give at least two servers, as in A=127.0.0.1:50051 B=http://…/v1");
  for (size_t i = 0; i < contenders.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (contenders[i].name == contenders[j].name) {
        return invalid_argument("two servers are named '" + contenders[i].name + "'");
      }
    }
  }
  if (rounds < 1 || rounds > 1000) return invalid_field("--rounds", "must be 1 to 1000");
  return load.validate();
}

Subcommand add_compare_command(CLI::App& program, const Output& output, const Environment& environment,
                               const std::string& command_line) {
  const auto options = std::make_shared<CompareOptions>();
  options->load.seed = environment.fresh_seed;
  CLI::App* const command =
      program.add_subcommand("compare", "Send the same load to several servers in turn, and tell how they differ");
  const auto take = [options](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const Result<Contender> contender = parse_contender(text);
      if (!contender.ok()) throw CLI::ValidationError("servers", contender.status().message());
      options->contenders.push_back(*contender);
    }
  };
  command
      ->add_option_function<std::vector<std::string>>(
          "servers", take, "Sluice daemons and OpenAI-compatible servers; the others are held against the first")
      ->type_name("NAME=H:P|URL")
      ->required();
  add_caller_options(*command, options->caller);
  add_load_options(*command, options->load);
  add_request_options(*command, options->load);
  add_slo_options(*command, options->load);
  command->add_option("--rounds", options->rounds, "Each with every server in turn")->capture_default_str();
  command->add_option("--report", options->report_path, "Write a page with plots, in one HTML file")->type_name("FILE");
  command->add_option("--json", options->json_path, "Also write the figures to this file")->type_name("FILE");
  return {.app = command, .run = [options, output, environment, command_line] {
            return exit_code_of(output, options->validate(),
                                [&] { return run(*options, output, environment, command_line); });
          }};
}

}  // namespace sluice::bench
