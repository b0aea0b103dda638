#include "bench/tune_command.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/program.h"
#include "bench/tune_report.h"
#include "tests/bench/limited_daemon.h"
#include "tests/client/support/program.h"

namespace sluice::bench {
namespace {

using nlohmann::json;
using test_support::LimitedDaemon;
using testing::HasSubstr;
using testing::Not;

struct Tuned {
  int exit_code = -1;
  std::string out;
  std::string err;
  json report;
  std::string html;
};

std::string take_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

std::vector<std::string> arguments_for(const LimitedDaemon& daemon, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"tune",       daemon.address(),  "--admin", daemon.admin_address(), "--slo",
                                     "ttft=200ms", "--prompt-tokens", "4",       "--output-tokens",      "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Tuned run_tune(std::vector<std::string> arguments) {
  const std::string base =
      (std::filesystem::temp_directory_path() / ("sluice_tune_" + std::to_string(getpid()))).string();
  arguments.insert(arguments.end(), {"--json", base + ".json", "--report", base + ".html"});
  std::ostringstream out;
  std::ostringstream err;
  Tuned tuned;
  const SteadyClock clock;
  tuned.exit_code = run_program(arguments, {.out = out, .err = err}, {.clock = clock});
  tuned.out = out.str();
  tuned.err = err.str();
  tuned.report = json::parse(take_file(base + ".json"), nullptr, /*allow_exceptions=*/false);
  tuned.html = take_file(base + ".html");
  return tuned;
}

/// With more time where a busy machine left too little for a verdict. Beyond its budget lies only what such a machine
/// takes to end a trial.
Tuned tune_to_a_verdict(const std::vector<std::string>& arguments) {
  for (int budget_s = 12;; budget_s *= 3) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--budget", std::to_string(budget_s) + "s"});
    Tuned tuned = run_tune(std::move(all));
    EXPECT_LT(tuned.report["elapsed_s"], budget_s + 60);
    if (tuned.report["verdict"] != "too_little_time" || budget_s > 100) return tuned;
  }
}

void expect_as_before(const LimitedDaemon& daemon) {
  EXPECT_EQ(daemon.limits().max_running(), LimitedDaemon::kMaxRunning);
  EXPECT_EQ(daemon.limits().tokens_per_step(), LimitedDaemon::kTokensPerStep);
  EXPECT_EQ(daemon.limits().tpot_target_ms(), 0);
}

TEST(TuneCommand, RefusesWrongUsageByTheOptionsName) {
  const auto error = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"tune", "127.0.0.1:1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Tuned tuned = run_tune(arguments);
    EXPECT_EQ(tuned.exit_code, 2) << tuned.err;
    return tuned.err;
  };
  EXPECT_THAT(error({}), HasSubstr("--slo"));
  EXPECT_THAT(error({"--slo", "speed=1s"}), HasSubstr("--slo"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--budget", "4s"}), HasSubstr("--budget"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--budget", "soon"}), HasSubstr("--budget"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--rate", "0"}), HasSubstr("--rate"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--max-running-max", "0"}), HasSubstr("--max-running-max"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--max-running-max", "4097"}), HasSubstr("--max-running-max"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--tokens-per-step", "0"}), HasSubstr("--tokens-per-step"));
  EXPECT_THAT(error({"--slo", "ttft=1s", "--tpot-target-ms", "60001"}), HasSubstr("--tpot-target-ms"));
}

TEST(TuneCommand, SearchesWhatTheDaemonCanBeSetTo) {
  TuneOptions options;
  options.trial.load.slo = *parse_slo("ttft=1s,tpot=40ms");
  const TunerConfig config = tuner_config(options, {.max_running = 48, .tokens_per_step = 256, .tpot_target_ms = 50});
  EXPECT_EQ(config.max_running_max, 48);
  EXPECT_THAT(config.tokens_per_step, testing::ElementsAre(32, 64, 128, 256));
  EXPECT_THAT(config.tpot_target_ms, testing::ElementsAre(0, 50, 40, 34, 28));
  ASSERT_EQ(config.starts.size(), 2U);
  EXPECT_EQ(config.starts[0].tpot_target_ms, 0);
  EXPECT_EQ(config.starts[1].tpot_target_ms, 40);
  EXPECT_EQ(config.starts[1].tokens_per_step, 256);
}

TEST(TuneCommand, SearchesWhatIsAsked) {
  TuneOptions options;
  options.trial.load.slo = *parse_slo("ttft=1s");
  options.max_running_max = 12;
  options.tokens_per_step = {512, 128, 512};
  options.tpot_target_ms = {30, 0, 60};
  const TunerConfig config = tuner_config(options, {.max_running = 48, .tokens_per_step = 256});
  EXPECT_EQ(config.max_running_max, 12);
  EXPECT_THAT(config.tokens_per_step, testing::ElementsAre(128, 512));
  EXPECT_THAT(config.tpot_target_ms, testing::ElementsAre(0, 60, 30));
  EXPECT_EQ(config.starts.size(), 1U);
}

TEST(TuneCommand, FailsWhenTheAdminListenerIsNotThere) {
  LimitedDaemon daemon;
  daemon.shut_admin();
  const Tuned tuned = run_tune(arguments_for(daemon, {}));
  EXPECT_EQ(tuned.exit_code, 1);
  EXPECT_THAT(tuned.err, HasSubstr("--admin"));
}

TEST(TuneCommand, CannotSetTheLimitsOfAnotherServer) {
  const Tuned tuned = run_tune({"tune", "http://127.0.0.1:1/v1", "--slo", "ttft=1s"});
  EXPECT_EQ(tuned.exit_code, 1);
  EXPECT_THAT(tuned.err, HasSubstr("gRPC address"));
}

TEST(TuneCommand, FindsTheBatchThatTheDaemonLikesAndPutsItsLimitsBack) {
  LimitedDaemon daemon;
  const Tuned tuned = tune_to_a_verdict(arguments_for(daemon, {"--tokens-per-step", "64"}));
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  expect_as_before(daemon);
  const json& best = tuned.report["best"];
  ASSERT_TRUE(best.is_object()) << tuned.out;
  EXPECT_LE(best["max_running"], LimitedDaemon::kRowsLiked);
  EXPECT_GE(best["max_running"], 3);
  EXPECT_GT(best["goodput_requests_per_second"]["mean"], 0);
  EXPECT_EQ(tuned.report["limits_before"]["max_running"], LimitedDaemon::kMaxRunning);
  EXPECT_FALSE(tuned.report["applied"]);
  EXPECT_THAT(tuned.out, HasSubstr("scheduler:\n  max_running: "));
  EXPECT_THAT(tuned.out, HasSubstr("TTFT breaks first"));
  EXPECT_THAT(tuned.err, HasSubstr("s left]"));
  EXPECT_THAT(tuned.html, HasSubstr("<svg"));
  EXPECT_THAT(tuned.html, HasSubstr("tokens_per_step: 64"));
}

TEST(TuneCommand, LeavesTheBestLimitsSetWhenAskedTo) {
  LimitedDaemon daemon;
  const Tuned tuned = tune_to_a_verdict(arguments_for(daemon, {"--tokens-per-step", "64", "--apply"}));
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_TRUE(tuned.report["applied"]);
  EXPECT_EQ(daemon.limits().max_running(), tuned.report["best"]["max_running"]);
}

TEST(TuneCommand, SaysSoWhenNothingKeepsTheObjective) {
  LimitedDaemon daemon;
  std::vector<std::string> arguments = arguments_for(daemon, {"--tokens-per-step", "64", "--max-running-max", "2"});
  arguments[5] = "ttft=1us";
  const Tuned tuned = tune_to_a_verdict(arguments);
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_EQ(tuned.report["verdict"], "nothing_good");
  EXPECT_TRUE(tuned.report["best"].is_null());
  EXPECT_THAT(tuned.out, Not(HasSubstr("max_running:")));
  expect_as_before(daemon);
}

TEST(TuneCommand, PutsTheLimitsBackWhenEveryRequestFails) {
  LimitedDaemon daemon;
  daemon.break_inference();
  const Tuned tuned = run_tune(arguments_for(daemon, {"--budget", "10s"}));
  EXPECT_EQ(tuned.exit_code, 1);
  EXPECT_THAT(tuned.err, HasSubstr("every request failed"));
  EXPECT_GE(daemon.changes(), 2);
  expect_as_before(daemon);
}

TEST(TuneCommand, PutsTheLimitsBackWhenTheDaemonRefusesSome) {
  LimitedDaemon daemon;
  const Tuned tuned = run_tune(arguments_for(daemon, {"--budget", "20s", "--tokens-per-step", "64,128"}));
  EXPECT_EQ(tuned.exit_code, 1);
  EXPECT_THAT(tuned.err, HasSubstr("scheduler.tokens_per_step"));
  expect_as_before(daemon);
}

TEST(TuneCommand, PutsTheLimitsBackWhenItIsInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    LimitedDaemon daemon;
    test_support::Program program(SLUICE_BENCH_PROGRAM, arguments_for(daemon, {"--budget", "600s"}));
    daemon.wait_for_changes(2);
    program.send_signal(signal);
    const test_support::Ended ended = program.wait();
    EXPECT_EQ(ended.exit_code, 130);
    EXPECT_THAT(ended.out, HasSubstr("Interrupted"));
    expect_as_before(daemon);
  }
}

TEST(TuneCommand, PutsTheLimitsBackThoughTheConnectionBreaksBesidesTheInterrupt) {
  LimitedDaemon daemon;
  test_support::Program program(SLUICE_BENCH_PROGRAM, arguments_for(daemon, {"--budget", "600s"}));
  daemon.wait_for_changes(1);
  daemon.refuse_changes(2);
  program.send_signal(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 130);
  expect_as_before(daemon);
}

// --- Reports ---

TunedArm arm(int32_t running, double good_per_batch, int64_t tpot_kept) {
  Trial trial;
  for (int i = 0; i < 4; ++i) {
    trial.batches.push_back({.ended = 100,
                             .whole = 100,
                             .good = static_cast<int64_t>(good_per_batch) + i % 2,
                             .good_tokens = 1000,
                             .seconds = 10});
  }
  trial.measured_s = 40;
  trial.requests = 400;
  trial.ttft_kept = 400;
  trial.tpot_kept = tpot_kept;
  trial.ttft_ms = {10, 20, 30};
  trial.tpot_ms = {1, 2, 3};
  trial.kv_used_share_max = running > 16 ? 0.99 : 0.5;
  trial.running_mean = running > 16 ? 20 : running;
  return {.setting = {.max_running = running, .tokens_per_step = 128, .tpot_target_ms = 40},
          .trials = {trial},
          .goodput = goodput_of(trial.batches)};
}

TuneOutcome outcome_of() {
  TuneOutcome outcome;
  outcome.verdict = TuneVerdict::kFound;
  outcome.arms = {arm(8, 80, 400), arm(16, 99, 400), arm(32, 10, 40)};
  outcome.best = outcome.arms[1].setting;
  outcome.order = {outcome.arms[0].setting, outcome.arms[1].setting, outcome.arms[2].setting};
  outcome.elapsed_s = 120;
  return outcome;
}

TuneSubject subject_of() {
  return {.slo = *parse_slo("ttft=1s,tpot=40ms"),
          .load = "prompts",
          .command_line = "sluice-bench tune <x>",
          .server = "model & co",
          .before = {.max_running = 64, .tokens_per_step = 512},
          .budget_s = 240};
}

TEST(TuneReport, TellsTheKneeAndWhatLiesPastIt) {
  const std::string text = tune_text(subject_of(), outcome_of());
  EXPECT_THAT(text, HasSubstr("Knee: 16 running, 128 tokens/step, TPOT target 40 ms"));
  EXPECT_THAT(text, HasSubstr("Past it, with 32 running"));
  EXPECT_THAT(text, HasSubstr("TPOT breaks first (TTFT is kept by 100 %, TPOT by 10 %)"));
  EXPECT_THAT(text, HasSubstr("the cache is full"));
  EXPECT_THAT(text, HasSubstr("20 of 32 rows were filled"));
  EXPECT_THAT(text, HasSubstr("no change beyond chance"));
  EXPECT_THAT(text, HasSubstr("scheduler:\n  max_running: 16\n  tokens_per_step: 128\n  tpot_target_ms: 40\n"));
  EXPECT_THAT(text, HasSubstr("120 s of 240 s"));
  EXPECT_THAT(text, HasSubstr("limits are as they were: 64 running, 512 tokens/step, no TPOT target"));
}

TEST(TuneReport, ClaimsNothingWithoutAVerdict) {
  TuneOutcome outcome = outcome_of();
  outcome.verdict = TuneVerdict::kTooLittleTime;
  EXPECT_THAT(tune_text(subject_of(), outcome), HasSubstr("too small for a verdict"));
  EXPECT_THAT(tune_text(subject_of(), outcome), Not(HasSubstr("scheduler:")));
  outcome.verdict = TuneVerdict::kNotToldApart;
  outcome.not_told_apart = {outcome.arms[0].setting};
  EXPECT_THAT(tune_text(subject_of(), outcome), HasSubstr("not told apart: 8 running"));
}

TEST(TuneReport, SpeaksOfDriftAndOfLimitsThatAreStuck) {
  TuneOutcome outcome = outcome_of();
  outcome.drift = 0.12;
  EXPECT_THAT(tune_text(subject_of(), outcome), HasSubstr("drifted"));
  outcome.drift = 0.01;
  EXPECT_THAT(tune_text(subject_of(), outcome), Not(HasSubstr("drifted")));
  TuneSubject subject = subject_of();
  subject.limits_failure = "run: sluice limits";
  EXPECT_THAT(tune_text(subject, outcome), HasSubstr("run: sluice limits"));
  EXPECT_THAT(tune_text(subject, outcome), Not(HasSubstr("as they were")));
}

TEST(TuneReport, HoldsTheSameFiguresAsJsonAndAsAPage) {
  const json report = json::parse(tune_json(subject_of(), outcome_of()));
  EXPECT_EQ(report["verdict"], "found");
  EXPECT_EQ(report["best"]["max_running"], 16);
  EXPECT_EQ(report["settings"].size(), 3U);
  EXPECT_EQ(report["yaml"], tune_yaml(*outcome_of().best));
  const std::string html = tune_html(subject_of(), outcome_of());
  EXPECT_THAT(html, HasSubstr("sluice-bench tune &lt;x&gt;"));
  EXPECT_THAT(html, HasSubstr("model &amp; co"));
  EXPECT_THAT(html, HasSubstr("<tr class=\"chosen\"><td>16</td>"));
}

TEST(ShownCommandLine, HidesKeysAndQuotesWhatAShellWouldRead) {
  EXPECT_EQ(shown_command_line({"tune", "--api-key", "secret", "--x", "a b"}),
            "sluice-bench tune --api-key … --x 'a b'");
  EXPECT_EQ(shown_command_line({"tune", "--api-key=secret"}), "sluice-bench tune --api-key=…");
}

}  // namespace
}  // namespace sluice::bench
