#include "bench/sweep_command.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/limited_daemon.h"
#include "tests/bench/ran_program.h"
#include "tests/client/support/program.h"

namespace sluice::bench {
namespace {

using test_support::LimitedDaemon;
using testing::ElementsAre;
using testing::HasSubstr;

Ran run_sweep(const LimitedDaemon& daemon, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"sweep", daemon.address(),  "--admin", daemon.admin_address(), "--prompt-tokens",
                                     "4",     "--output-tokens", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program_here(arguments);
}

TEST(ParseCounts, ReadsNumbersAndDoublings) {
  EXPECT_THAT(*parse_counts("1,2,8..64"), ElementsAre(1, 2, 8, 16, 32, 64));
  EXPECT_THAT(*parse_counts("3..20"), ElementsAre(3, 6, 12));
  EXPECT_THAT(*parse_counts("5..5"), ElementsAre(5));
  EXPECT_THAT(*parse_counts("2147483647"), ElementsAre(2147483647));
  EXPECT_THAT(*parse_counts("1073741824..2147483647"), ElementsAre(1073741824));
  for (const char* const text : {"", "0", "-1", "a", "4..2", "1..", "..4", "1.5", "1,,2", "1;2", "99999999999"}) {
    EXPECT_FALSE(parse_counts(text).ok()) << text;
  }
}

TEST(SweepPoints, AreAllCombinationsThatADaemonTakes) {
  SweepOptions options;
  options.max_running = {4, 64};
  options.tokens_per_step = {32, 128};
  const std::vector<TrialPoint> points =
      sweep_points(options, {.max_running = 9, .tokens_per_step = 9, .tpot_target_ms = 7});
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(*points[0].limits, (LimitSetting{.max_running = 4, .tokens_per_step = 32, .tpot_target_ms = 7}));
  EXPECT_EQ(points[0].concurrency, 4);
  EXPECT_EQ(points[2].limits->max_running, 64);
  EXPECT_EQ(points[2].concurrency, 64);
}

TEST(SweepPoints, SetNoLimitsWhenNoneAreSwept) {
  SweepOptions options;
  options.concurrency = {1, 2};
  const std::vector<TrialPoint> points = sweep_points(options, {});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_FALSE(points[0].limits);
  options.concurrency.clear();
  options.rate = {0.5};
  EXPECT_EQ(sweep_points(options, {}).at(0).rate, 0.5);
  EXPECT_FALSE(sweep_points(options, {}).at(0).concurrency);
}

TEST(SweepCommand, RefusesWrongUsageByTheOptionsName) {
  LimitedDaemon daemon;
  const auto error = [&](const std::vector<std::string>& more) {
    const Ran ran = run_sweep(daemon, more);
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  };
  EXPECT_THAT(error({}), HasSubstr("nothing to sweep"));
  EXPECT_THAT(error({"--concurrency", "1", "--rate", "1"}), HasSubstr("--rate"));
  EXPECT_THAT(error({"--rate", "0"}), HasSubstr("--rate"));
  EXPECT_THAT(error({"--concurrency", "0"}), HasSubstr("--concurrency"));
  EXPECT_THAT(error({"--max-running", "8..4"}), HasSubstr("--max-running"));
  EXPECT_THAT(error({"--concurrency", "1", "--batches", "1"}), HasSubstr("--batches"));
  EXPECT_THAT(error({"--tpot-target-ms", "-1"}), HasSubstr("--tpot-target-ms"));
  EXPECT_THAT(error({"--concurrency", "1", "--trial-max", "x"}), HasSubstr("--trial-max"));
}

TEST(SweepCommand, MeasuresEachPointAndPutsLimitsBack) {
  LimitedDaemon daemon;
  const Ran ran = run_sweep(daemon, {"--slo", "ttft=200ms", "--max-running", "4,16", "--batches", "2"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(daemon.limits().max_running(), LimitedDaemon::kMaxRunning);
  EXPECT_EQ(daemon.changes(), 3);
  ASSERT_EQ(ran.report["points"].size(), 2U);
  EXPECT_GT(ran.report["points"][0]["goodput_requests_per_second"]["mean"], 0);
  EXPECT_EQ(ran.report["points"][1]["goodput_requests_per_second"]["mean"], 0);
  EXPECT_EQ(ran.report["points"][1]["concurrency"], 16);
  EXPECT_EQ(ran.report["best"]["max_running"], 4);
  EXPECT_EQ(std::count(ran.csv.begin(), ran.csv.end(), '\n'), 3);
  EXPECT_THAT(ran.out, HasSubstr("max running"));
}

TEST(SweepCommand, NeedsNoAdminListenerWhenOnlyTheLoadIsSwept) {
  const test_support::ScriptedServer server(
      {.stream_complete = [](auto&, const v1::CompleteRequest& request,
                             auto& writer) { return test_support::answer_at_once(request, writer); },
       .get_model = test_support::small_model});
  const std::vector<std::string> arguments{"sweep", server.address(), "--prompt-tokens",         "4", "--batches",
                                           "2",     "--admin",        "unix:/nonexistent/socket"};
  std::vector<std::string> closed = arguments;
  closed.insert(closed.end(), {"--concurrency", "1,2"});
  const Ran ran = run_program_here(closed);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.report["points"].size(), 2U);
  std::vector<std::string> open = arguments;
  open.insert(open.end(), {"--rate", "100"});
  const Ran ran_open = run_program_here(open);
  EXPECT_EQ(ran_open.exit_code, 0) << ran_open.err;
  EXPECT_EQ(ran_open.report["points"][0]["rate"], 100);
}

TEST(SweepCommand, PutsLimitsBackAfterAFailureAndReportsWhatThereIs) {
  LimitedDaemon daemon;
  const Ran ran = run_sweep(daemon, {"--max-running", "4,32", "--batches", "2"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("scheduler.max_running"));
  EXPECT_EQ(ran.report["points"].size(), 1U);
  EXPECT_EQ(daemon.limits().max_running(), LimitedDaemon::kMaxRunning);
}

TEST(SweepCommand, PutsLimitsBackWhenItIsInterrupted) {
  LimitedDaemon daemon;
  test_support::Program program(SLUICE_BENCH_PROGRAM,
                                {"sweep", daemon.address(), "--admin", daemon.admin_address(), "--max-running", "4",
                                 "--batches", "1000", "--prompt-tokens", "4", "--trial-max", "60m"});
  daemon.wait_for_changes(1);
  program.send_signal(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 130);
  EXPECT_EQ(daemon.limits().max_running(), LimitedDaemon::kMaxRunning);
}

}  // namespace
}  // namespace sluice::bench
