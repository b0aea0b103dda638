#include "bench/tune_command.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <CLI/CLI.hpp>

#include "bench/html_report.h"
#include "bench/parse_time.h"
#include "bench/parsed_option.h"
#include "bench/progress_bar.h"
#include "bench/trial_report.h"
#include "bench/tune_report.h"

namespace sluice::bench {
namespace {

// For putting the limits back and writing the report.
constexpr Duration kLastWord = std::chrono::milliseconds(1000);
constexpr Duration kBudgetMin = std::chrono::seconds(5);

Result<Duration> parse_budget(const std::string& text) {
  return parse_time(text);
}

std::vector<int32_t> sorted_tokens(std::vector<int32_t> tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

/// The daemon's own and three halvings, as far as they hold more than a block or so.
std::vector<int32_t> default_tokens(int32_t most) {
  std::vector<int32_t> tokens;
  for (int32_t value = most; tokens.size() < 4 && value >= 16; value /= 2) tokens.push_back(value);
  if (tokens.empty()) tokens.push_back(most);
  return sorted_tokens(tokens);
}

/// From the loosest, which is none, to the tightest.
std::vector<double> sorted_targets(std::vector<double> targets) {
  std::sort(targets.begin(), targets.end(), [](double a, double b) {
    const double infinity = std::numeric_limits<double>::infinity();
    return (a > 0 ? a : infinity) > (b > 0 ? b : infinity);
  });
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

std::vector<double> default_targets(const Slo& slo, double before) {
  std::vector<double> targets{0};
  if (before > 0) targets.push_back(before);
  if (slo.tpot) {
    const double tpot_ms = to_milliseconds(*slo.tpot);
    // Two digits are enough for a bound on steps.
    for (const double share : {1.0, 0.85, 0.7}) targets.push_back(std::round(share * tpot_ms * 10) / 10);
  }
  return sorted_targets(targets);
}

/// None at all, and the loosest that keeps a step within the objective by itself: either may be the better beginning.
std::vector<double> start_targets(const std::vector<double>& targets, const Slo& slo) {
  std::vector<double> starts{targets.front()};
  const auto fits = [&](double target) { return slo.tpot && target > 0 && target <= to_milliseconds(*slo.tpot); };
  const auto found = std::find_if(targets.begin(), targets.end(), fits);
  if (found != targets.end() && found != targets.begin()) starts.push_back(*found);
  return starts;
}

std::string load_text(const TuneOptions& options) {
  const RunConfig& load = options.trial.load;
  std::string text = "prompts of " + load.prompt_tokens.text() + " tokens, answers of " +
                     load.output_tokens.value_or(LengthDistribution::fixed(RunConfig::kOutputTokens)).text();
  if (options.rate) return text + ", " + tidy_number(*options.rate) + " requests/s (Poisson)";
  return text + ", as many requests in flight as may run";
}

/// Tells what happens, on the error stream.
class TuneLog {
 public:
  TuneLog(const Output& output, const Clock& clock, Duration budget)
      : output_(output),
        clock_(clock),
        begin_(clock.now()),
        budget_(budget),
        bar_(output.err, output.err_is_terminal) {}

  void begin_trial(const LimitSetting& setting, const std::string& why) {
    output_.err << clock_text() << describe(setting) << " (" << why << ")";
    output_.err << (output_.err_is_terminal ? "\n" : "") << std::flush;
  }
  void tick() { bar_.draw(std::min(1.0, to_seconds(elapsed()) / to_seconds(budget_)), ++ticks_); }
  void end_trial(const Result<Trial>& trial) {
    bar_.clear();
    if (trial.ok()) {
      const Estimate goodput = goodput_of(trial->batches);
      output_.err << (output_.err_is_terminal ? clock_text() + "  " : ": ") << tidy_number(goodput.mean)
                  << " good requests/s (" << interval_text(goodput) << ")";
    }
    output_.err << std::endl;
  }

 private:
  Duration elapsed() const { return clock_.now() - begin_; }
  std::string clock_text() const {
    const double left = std::max(0.0, to_seconds(budget_ - elapsed()));
    return "[" + std::to_string(std::lround(to_seconds(elapsed()))) + " s, " + std::to_string(std::lround(left)) +
           " s left] ";
  }

  const Output& output_;
  const Clock& clock_;
  const TimePoint begin_;
  const Duration budget_;
  ProgressBar bar_;
  int64_t ticks_ = 0;
};

/// The limits as they are to be left.
Status leave_limits(TrialSession& session, const TuneOptions& options, const TuneOutcome& outcome, bool& was_applied) {
  const bool may_apply = options.applies && outcome.best && outcome.failure.ok() && !session.stopped() &&
                         outcome.verdict != TuneVerdict::kTooLittleTime;
  if (may_apply) {
    if (const Status status = session.limits().set(*outcome.best); status.ok()) {
      session.limits().keep();
      was_applied = true;
      return {};
    }
  }
  return session.limits().put_back();
}

Status publish(const TuneOptions& options, const TuneSubject& subject, const TuneOutcome& outcome,
               const Output& output) {
  output.out << tune_text(subject, outcome) << std::flush;
  if (!options.trial.json_path.empty()) {
    SLUICE_RETURN_IF_ERROR(write_file(options.trial.json_path, tune_json(subject, outcome) + "\n"));
  }
  if (options.trial.report_path.empty()) return {};
  return write_file(options.trial.report_path, tune_html(subject, outcome));
}

TuneOutcome search(const TuneOptions& options, TrialSession& session, const Output& output, const Clock& clock) {
  const TunerConfig config = tuner_config(options, session.limits().before_setting());
  TuneLog log(output, clock, options.budget);
  const RunTrial run = [&](const LimitSetting& setting, const TrialLength& length) {
    TrialPoint point{.limits = setting, .concurrency = std::nullopt, .rate = options.rate};
    if (!options.rate) point.concurrency = setting.max_running;
    Result<Trial> trial = session.run(point, length, [&] { log.tick(); });
    log.end_trial(trial);
    return trial;
  };
  TuneOutcome outcome = tune(
      config, run, clock, [&](const LimitSetting& setting, const std::string& why) { log.begin_trial(setting, why); });
  for (TunedArm& arm : outcome.arms) {
    arm.rate = options.rate;
    if (!options.rate) arm.concurrency = arm.setting.max_running;
  }
  return outcome;
}

Result<ExitCode> run(const TuneOptions& options, const Output& output, const Environment& environment,
                     const std::string& command_line) {
  SLUICE_RETURN_IF_ERROR(check_writable("--report", options.trial.report_path));
  SLUICE_RETURN_IF_ERROR(check_writable("--json", options.trial.json_path));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<TrialSession> session,
                          TrialSession::open(options.trial, /*sets_limits=*/true, environment));
  const TuneOutcome outcome = search(options, *session, output, environment.clock);
  TuneSubject subject{.slo = options.trial.load.slo,
                      .load = load_text(options),
                      .command_line = command_line,
                      .server = session->server_text(),
                      .before = session->limits().before_setting(),
                      .budget_s = to_seconds(options.budget)};
  subject.was_interrupted = session->stopped();
  const Status left = leave_limits(*session, options, outcome, subject.was_applied);
  subject.limits_failure = left.message();
  const Status published = publish(options, subject, outcome, output);
  SLUICE_RETURN_IF_ERROR(left);
  SLUICE_RETURN_IF_ERROR(published);
  if (session->stopped()) return kInterrupted;
  SLUICE_RETURN_IF_ERROR(outcome.failure);
  return kFine;
}

}  // namespace

Status TuneOptions::validate() const {
  if (trial.load.slo.is_empty()) return invalid_field("--slo", "is needed: what a request must keep to count as good");
  if (budget < kBudgetMin) return invalid_field("--budget", "must be at least 5s");
  if (rate && !(*rate > 0 && std::isfinite(*rate))) return invalid_field("--rate", "must be above 0");
  if (max_running_max && (*max_running_max < 1 || *max_running_max > 4096)) {
    return invalid_field("--max-running-max", "must be 1 to 4096");
  }
  for (const int32_t tokens : tokens_per_step) {
    if (tokens < 1 || tokens > 1 << 20) return invalid_field("--tokens-per-step", "must be 1 to 1048576");
  }
  for (const double target : tpot_target_ms) {
    if (!(target >= 0 && target <= 60'000)) return invalid_field("--tpot-target-ms", "must be 0 to 60000");
  }
  RunConfig load = trial.load;
  load.concurrency = 1;
  load.seconds = 1;
  return load.validate();
}

TunerConfig tuner_config(const TuneOptions& options, const LimitSetting& before) {
  const Slo& slo = options.trial.load.slo;
  TunerConfig config;
  config.tokens_per_step =
      options.tokens_per_step.empty() ? default_tokens(before.tokens_per_step) : sorted_tokens(options.tokens_per_step);
  config.max_running_max =
      std::min(options.max_running_max.value_or(before.max_running), config.tokens_per_step.back());
  config.tpot_target_ms = options.tpot_target_ms.empty() ? default_targets(slo, before.tpot_target_ms)
                                                         : sorted_targets(options.tpot_target_ms);
  for (const double target : start_targets(config.tpot_target_ms, slo)) {
    config.starts.push_back(
        {.max_running = 1, .tokens_per_step = config.tokens_per_step.back(), .tpot_target_ms = target});
  }
  config.budget = options.budget;
  config.last_word = kLastWord;
  return config;
}

Subcommand add_tune_command(CLI::App& program, const Output& output, const Environment& environment,
                            const std::string& command_line) {
  const auto options = std::make_shared<TuneOptions>();
  options->trial.load.seed = environment.fresh_seed;
  CLI::App* const command = program.add_subcommand(
      "tune", "Find a running daemon's max_running, tokens_per_step and tpot_target_ms with the most goodput");
  add_trial_options(*command, options->trial);
  add_parsed(*command, "--budget", options->budget, parse_budget, "Measure no longer than this [240s]")
      ->type_name("TIME");
  command->add_option("--rate", options->rate, "Open loop, Poisson, instead of as many requests in flight as may run");
  command->add_option("--max-running-max", options->max_running_max, "Try no more than this [the daemon's]");
  command
      ->add_option("--tokens-per-step", options->tokens_per_step,
                   "Values to try; a list a,b,c [the daemon's and three halvings]")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--tpot-target-ms", options->tpot_target_ms,
                   "Values to try, 0: none; a list [none, and 100, 85, 70 % of the SLO's tpot]")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--apply", options->applies, "Leave the best limits set; else they are put back as they were");
  return {.app = command, .run = [options, output, environment, command_line] {
            return exit_code_of(output, options->validate(),
                                [&] { return run(*options, output, environment, command_line); });
          }};
}

}  // namespace sluice::bench
