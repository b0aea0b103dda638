#include "bench/sweep_command.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/html_report.h"
#include "bench/parse_time.h"
#include "bench/parsed_option.h"
#include "bench/progress_bar.h"
#include "bench/trial_report.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

Result<Duration> parse_trial_max(const std::string& text) {
  return parse_time(text);
}

std::optional<int32_t> read_count(std::string_view text) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

/// What to try, and what came of it so far.
struct Sweep {
  const SweepOptions& options;
  TrialSession& session;
  const Output& output;
  const Clock& clock;
  LimitSetting before;
  std::vector<TrialRow> rows = {};
  double elapsed_s = 0;
};

Status try_all(Sweep& sweep) {
  const std::vector<TrialPoint> points = sweep_points(sweep.options, sweep.before);
  const TimePoint start = sweep.clock.now();
  const auto batches = static_cast<size_t>(sweep.options.batches);
  const TrialLength length{.time_max = sweep.options.trial_max,
                           .is_decided = [&](const auto& done) { return done.size() >= batches; }};
  ProgressBar bar(sweep.output.err, sweep.output.err_is_terminal);
  for (const TrialPoint& point : points) {
    const double share = static_cast<double>(sweep.rows.size()) / static_cast<double>(points.size());
    Result<Trial> trial =
        sweep.session.run(point, length, [&] { bar.draw(share, static_cast<int64_t>(sweep.rows.size())); });
    bar.clear();
    if (!trial.ok()) return trial.status();
    TrialRow row = row_of(point.limits.value_or(sweep.before), {std::move(*trial)});
    row.concurrency = point.concurrency;
    row.rate = point.rate;
    sweep.rows.push_back(std::move(row));
    sweep.elapsed_s = to_seconds(sweep.clock.now() - start);
    const TrialRow& done = sweep.rows.back();
    sweep.output.err << "[" << sweep.rows.size() << " of " << points.size() << ", " << std::lround(sweep.elapsed_s)
                     << " s] " << tidy_number(done.goodput.mean) << " good requests/s (" << interval_text(done.goodput)
                     << ")" << std::endl;
  }
  return {};
}

TrialAxis axis_of(const SweepOptions& options) {
  if (!options.max_running.empty()) return TrialAxis::kMaxRunning;
  return options.rate.empty() ? TrialAxis::kConcurrency : TrialAxis::kRate;
}

const TrialRow* best_of(const std::vector<TrialRow>& rows) {
  const auto found = std::max_element(
      rows.begin(), rows.end(), [](const TrialRow& a, const TrialRow& b) { return a.goodput.mean < b.goodput.mean; });
  return found == rows.end() ? nullptr : &*found;
}

std::string load_name(const TrialRow& row) {
  if (row.rate) return tidy_number(*row.rate) + " requests/s";
  return std::to_string(row.concurrency.value_or(0)) + " in flight";
}

std::string sweep_json(const Sweep& sweep, const std::string& command_line) {
  Json rows = Json::array();
  for (const TrialRow& row : sweep.rows) rows.push_back(Json::parse(trial_json(row)));
  const TrialRow* const best = best_of(sweep.rows);
  const Json json{{"slo", sweep.options.trial.load.slo.text()},
                  {"best", best != nullptr ? Json::parse(trial_json(*best)) : Json(nullptr)},
                  {"elapsed_s", sweep.elapsed_s},
                  {"server", sweep.session.server_text()},
                  {"machine", machine_line()},
                  {"command", command_line},
                  {"points", rows}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string sweep_html(const Sweep& sweep, const std::string& command_line) {
  const Slo& slo = sweep.options.trial.load.slo;
  const TrialAxis axis = axis_of(sweep.options);
  HtmlReport report("sluice-bench sweep" + (slo.is_empty() ? std::string() : ": " + slo.text()));
  report.add_paragraph(sweep.session.server_text() + "; " + std::to_string(sweep.rows.size()) + " points in " +
                       tidy_number(std::round(sweep.elapsed_s)) + " s.");
  std::vector<std::pair<std::string, TrialRow>> compared;
  HtmlTable table = trial_table(sweep.rows, sweep.options.sets_limits());
  std::optional<double> knee;
  if (const TrialRow* const best = best_of(sweep.rows)) {
    table.marked_row = static_cast<size_t>(best - sweep.rows.data());
    compared.emplace_back("most goodput: " + load_name(*best), *best);
    compared.emplace_back("first: " + load_name(sweep.rows.front()), sweep.rows.front());
    compared.emplace_back("last: " + load_name(sweep.rows.back()), sweep.rows.back());
    report.add_paragraph("Most goodput: " + tidy_number(best->goodput.mean) + " requests/s (" +
                         interval_text(best->goodput) + "), " + load_name(*best) +
                         (sweep.options.sets_limits() ? ", " + describe(best->setting) : std::string()) + ".");
  }
  if (const std::string warning = client_warning(sweep.rows); !warning.empty()) report.add_paragraph(warning);
  report.add_plots({knee_plot(sweep.rows, axis, knee), kv_plot(sweep.rows, axis),
                    latency_plot(sweep.rows, axis, /*is_ttft=*/true, slo),
                    latency_plot(sweep.rows, axis, /*is_ttft=*/false, slo), cdf_plot(compared, /*is_ttft=*/true, slo),
                    cdf_plot(compared, /*is_ttft=*/false, slo)});
  report.add_heading("All points");
  report.add_table(table);
  add_origin(report, command_line, sweep.session.server_text());
  return report.html();
}

Status publish(const Sweep& sweep, const std::string& command_line) {
  const SweepOptions& options = sweep.options;
  sweep.output.out << sweep.session.server_text() << "\n\n"
                   << table_text(trial_table(sweep.rows, options.sets_limits()));
  if (const std::string warning = client_warning(sweep.rows); !warning.empty())
    sweep.output.out << '\n' << warning << '\n';
  sweep.output.out << std::flush;
  SLUICE_RETURN_IF_ERROR(write_file(options.csv_path, trial_csv(sweep.rows)));
  SLUICE_RETURN_IF_ERROR(write_file(options.trial.json_path, sweep_json(sweep, command_line) + "\n"));
  return write_file(options.trial.report_path, sweep_html(sweep, command_line));
}

Result<ExitCode> run(const SweepOptions& options, const Output& output, const Environment& environment,
                     const std::string& command_line) {
  SLUICE_RETURN_IF_ERROR(check_writable("--report", options.trial.report_path));
  SLUICE_RETURN_IF_ERROR(check_writable("--json", options.trial.json_path));
  SLUICE_RETURN_IF_ERROR(check_writable("--csv", options.csv_path));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<TrialSession> session,
                          TrialSession::open(options.trial, options.sets_limits(), environment));
  Sweep sweep{.options = options, .session = *session, .output = output, .clock = environment.clock, .before = {}};
  if (options.sets_limits()) sweep.before = session->limits().before_setting();
  const Status tried = try_all(sweep);
  const Status left = options.sets_limits() ? session->limits().put_back() : Status();
  const Status published = publish(sweep, command_line);
  SLUICE_RETURN_IF_ERROR(left);
  SLUICE_RETURN_IF_ERROR(published);
  if (session->stopped()) return kInterrupted;
  SLUICE_RETURN_IF_ERROR(tried);
  return kFine;
}

}  // namespace

Result<std::vector<int32_t>> parse_counts(const std::string& text) {
  std::vector<int32_t> counts;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dots = part.find("..");
    const std::optional<int32_t> low = read_count(std::string_view(part).substr(0, dots));
    std::optional<int32_t> high = low;
    if (dots != std::string::npos) high = read_count(std::string_view(part).substr(dots + 2));
    if (!low || !high || *high < *low) {
      return invalid_argument("'" + part + "' is neither a number above 0 nor A..B, from A doubling up to B");
    }
    for (int64_t count = *low; count <= *high; count *= 2) counts.push_back(static_cast<int32_t>(count));
  }
  if (counts.empty()) return invalid_argument("'" + text + "' has no number");
  return counts;
}

Status SweepOptions::validate() const {
  if (!concurrency.empty() && !rate.empty()) return invalid_argument("give one of --concurrency and --rate");
  if (concurrency.empty() && rate.empty() && !sets_limits()) {
    return invalid_argument(
        "nothing to sweep: give lists of --concurrency, --rate, --max-running, --tokens-per-step or --tpot-target-ms");
  }
  if (!std::all_of(rate.begin(), rate.end(), is_positive)) return invalid_field("--rate", "must be above 0");
  for (const double target : tpot_target_ms) {
    if (!(target >= 0 && target <= 60'000)) return invalid_field("--tpot-target-ms", "must be 0 to 60000");
  }
  if (batches < 2 || batches > 1000) return invalid_field("--batches", "must be 2 to 1000");
  RunConfig load = trial.load;
  load.concurrency = 1;
  load.seconds = 1;
  return load.validate();
}

std::vector<TrialPoint> sweep_points(const SweepOptions& options, const LimitSetting& before) {
  const auto or_one = [](auto list, auto otherwise) {
    if (list.empty()) list.push_back(otherwise);
    return list;
  };
  std::vector<TrialPoint> points;
  for (const double target : or_one(options.tpot_target_ms, before.tpot_target_ms)) {
    for (const int32_t tokens : or_one(options.tokens_per_step, before.tokens_per_step)) {
      for (const int32_t running : or_one(options.max_running, before.max_running)) {
        TrialPoint point;
        if (options.sets_limits()) {
          if (tokens < running) continue;
          point.limits = LimitSetting{.max_running = running, .tokens_per_step = tokens, .tpot_target_ms = target};
        }
        for (const double rate : options.rate) {
          points.push_back({.limits = point.limits, .concurrency = std::nullopt, .rate = rate});
        }
        if (!options.rate.empty()) continue;
        for (const int32_t concurrency : or_one(options.concurrency, running)) {
          points.push_back({.limits = point.limits, .concurrency = concurrency, .rate = std::nullopt});
        }
      }
    }
  }
  return points;
}

Subcommand add_sweep_command(CLI::App& program, const Output& output, const Environment& environment,
                             const std::string& command_line) {
  const auto options = std::make_shared<SweepOptions>();
  options->trial.load.seed = environment.fresh_seed;
  CLI::App* const command = program.add_subcommand(
      "sweep", "Measure every combination of loads and of limits, which are set while the daemon serves");
  add_trial_options(*command, options->trial);
  add_parsed(*command, "--concurrency", options->concurrency, parse_counts,
             "Closed loops: requests in flight; a list with A..B for doublings, as in 1,2,8..64")
      ->type_name("LIST");
  command->add_option("--rate", options->rate, "Open loops: requests per second, Poisson; a list a,b,c")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_parsed(*command, "--max-running", options->max_running, parse_counts,
             "Limits to set; without --concurrency and --rate as many requests are in flight as may run")
      ->type_name("LIST");
  add_parsed(*command, "--tokens-per-step", options->tokens_per_step, parse_counts, "Limits to set")->type_name("LIST");
  command->add_option("--tpot-target-ms", options->tpot_target_ms, "Limits to set, 0: none; a list a,b,c")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--batches", options->batches,
                   "Of each trial: turns of the full batch, or 16 requests in an open loop")
      ->capture_default_str();
  add_parsed(*command, "--trial-max", options->trial_max, parse_trial_max,
             "A trial that takes longer ends with what it has [2m]")
      ->type_name("TIME");
  command->add_option("--csv", options->csv_path, "Also write the table to this file")->type_name("FILE");
  return {.app = command, .run = [options, output, environment, command_line] {
            return exit_code_of(output, options->validate(),
                                [&] { return run(*options, output, environment, command_line); });
          }};
}

}  // namespace sluice::bench
