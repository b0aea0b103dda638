#include "bench/compare_command.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/compare_report.h"
#include "bench/program.h"
#include "tests/bench/limited_daemon.h"

namespace sluice::bench {
namespace {

using nlohmann::json;
using test_support::LimitedDaemon;
using test_support::ScriptedServer;
using testing::ElementsAre;
using testing::HasSubstr;

struct Compared {
  int exit_code = -1;
  std::string out;
  std::string err;
  json report;
};

Compared run_compare(std::vector<std::string> arguments) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice_compare_" + std::to_string(getpid()) + ".json")).string();
  arguments.insert(arguments.begin(), "compare");
  arguments.insert(arguments.end(), {"--json", path});
  std::ostringstream out;
  std::ostringstream err;
  const SteadyClock clock;
  Compared compared;
  compared.exit_code = run_program(arguments, {.out = out, .err = err}, {.clock = clock});
  compared.out = out.str();
  compared.err = err.str();
  std::ifstream file(path);
  compared.report = json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::filesystem::remove(path);
  return compared;
}

Report report_of(double tokens_per_second, double ttft_ms) {
  Report report;
  report.requests = 10;
  report.duration_s = 10;
  report.output_tokens = static_cast<int64_t>(10 * tokens_per_second);
  report.ttft_ms = {.count = 10, .p50 = ttft_ms, .p90 = ttft_ms, .p99 = 2 * ttft_ms, .mean = ttft_ms, .max = ttft_ms};
  return report;
}

const std::vector<Contender> kTwo{{.name = "A", .address = "a"}, {.name = "B", .address = "b"}};

const Comparison& metric(const std::vector<Comparison>& comparisons, const std::string& name) {
  return *std::find_if(comparisons.begin(), comparisons.end(), [&](const auto& c) { return c.metric == name; });
}

TEST(CompareRounds, AreABBAForTwoAndRotateForMore) {
  EXPECT_THAT(round_order(0, 2), ElementsAre(0, 1));
  EXPECT_THAT(round_order(1, 2), ElementsAre(1, 0));
  EXPECT_THAT(round_order(2, 2), ElementsAre(1, 0));
  EXPECT_THAT(round_order(3, 2), ElementsAre(0, 1));
  EXPECT_THAT(round_order(0, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(round_order(1, 3), ElementsAre(2, 1, 0));
  EXPECT_THAT(round_order(2, 3), ElementsAre(1, 2, 0));
}

TEST(CompareRounds, GiveAVerdictWhereTheIntervalIsClearOfOne) {
  // The machine slows down by half on the way; within a round B is always a third faster, and no sooner.
  const std::vector<std::vector<Report>> reports{{report_of(100, 50), report_of(70, 70), report_of(50, 100)},
                                                 {report_of(133, 51), report_of(94, 69), report_of(66, 101)}};
  const std::vector<Comparison> comparisons = compare(kTwo, reports, 1, /*has_slo=*/false);
  const Comparison& tokens = metric(comparisons, "output tokens/s");
  EXPECT_NEAR(tokens.ratio.ratio, 1.33, 0.01);
  EXPECT_GT(tokens.ratio.interval.low, 1.25);
  EXPECT_EQ(tokens.verdict, "B is better");
  EXPECT_EQ(metric(comparisons, "TTFT p50 ms").verdict, "no difference beyond chance");
}

TEST(CompareRounds, KnowWhetherMoreIsBetter) {
  const std::vector<std::vector<Report>> reports{{report_of(100, 50), report_of(100, 51)},
                                                 {report_of(50, 100), report_of(50, 102)}};
  const std::vector<Comparison> comparisons = compare(kTwo, reports, 1, false);
  EXPECT_EQ(metric(comparisons, "output tokens/s").verdict, "A is better");
  EXPECT_EQ(metric(comparisons, "TTFT p50 ms").verdict, "A is better");
}

TEST(CompareRounds, WithholdTheVerdictWhenItWouldBeTheClients) {
  std::vector<std::vector<Report>> reports{{report_of(100, 50), report_of(100, 50)},
                                           {report_of(50, 100), report_of(50, 100)}};
  EXPECT_THAT(metric(compare(kTwo, {{report_of(1, 1)}, {report_of(2, 1)}}, 1, false), "output tokens/s").verdict,
              HasSubstr("too few rounds"));
  reports[1][0].client.limited_because = "it was busy";
  EXPECT_THAT(metric(compare(kTwo, reports, 1, false), "output tokens/s").verdict, HasSubstr("it was busy"));
  reports[1][0].client.limited_because.clear();
  reports[0][1].errors = 3;
  EXPECT_THAT(metric(compare(kTwo, reports, 1, false), "output tokens/s").verdict, HasSubstr("3 requests to A failed"));
}

TEST(Contender, HasANameAndAnAddress) {
  EXPECT_EQ(parse_contender("A=http://h:1/v1?x=y")->address, "http://h:1/v1?x=y");
  EXPECT_EQ(parse_contender("A=b")->name, "A");
  for (const char* const text : {"", "A", "=b", "A="}) EXPECT_FALSE(parse_contender(text).ok()) << text;
}

TEST(CompareReport, WarnsWhenPromptsAreNotTheSame) {
  ComparedServers compared{.contenders = kTwo, .servers = {"<a>", "b"}, .reports = {}};
  compared.reports = {{report_of(100, 50), report_of(100, 50)}, {report_of(50, 100), report_of(50, 101)}};
  EXPECT_THAT(compare_text(compared), testing::Not(HasSubstr("same prompts")));
  for (Report& report : compared.reports[0]) report.prompt_tokens = 1000;
  for (Report& report : compared.reports[1]) report.prompt_tokens = 1500;
  EXPECT_THAT(compare_text(compared), HasSubstr("do not count the same prompts"));
  EXPECT_THAT(compare_html(compared), HasSubstr("&lt;a&gt;"));
}

TEST(CompareReport, TellsOnceWhyThereIsNoVerdict) {
  ComparedServers compared{.contenders = kTwo, .servers = {"a", "b"}, .reports = {}};
  compared.reports = {{report_of(100, 50), report_of(100, 50)}, {report_of(50, 100), report_of(50, 101)}};
  compared.reports[1][0].client.limited_because = "it was busy";
  const std::string text = compare_text(compared);
  const size_t first = text.find("it was busy");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("it was busy", first + 1), std::string::npos);
  EXPECT_THAT(compare_html(compared), HasSubstr("No verdict: the client was the limit beside B: it was busy."));
}

TEST(CompareCommand, RefusesWrongUsage) {
  const auto error = [](std::vector<std::string> arguments) {
    const Compared compared = run_compare(std::move(arguments));
    EXPECT_EQ(compared.exit_code, 2);
    return compared.err;
  };
  EXPECT_THAT(error({"A=a", "--concurrency", "1", "--requests", "1"}), HasSubstr("at least two"));
  EXPECT_THAT(error({"A=a", "b", "--concurrency", "1", "--requests", "1"}), HasSubstr("NAME=ADDRESS"));
  EXPECT_THAT(error({"A=a", "A=b", "--concurrency", "1", "--requests", "1"}), HasSubstr("named 'A'"));
  EXPECT_THAT(error({"A=a", "B=b", "--concurrency", "1", "--requests", "1", "--rounds", "0"}), HasSubstr("--rounds"));
  EXPECT_THAT(error({"A=a", "B=b", "--requests", "1"}), HasSubstr("--concurrency"));
}

TEST(CompareCommand, SaysWhichServerIsNotThere) {
  const LimitedDaemon daemon;
  const Compared compared =
      run_compare({"A=" + daemon.address(), "B=unix:/nonexistent/socket", "--concurrency", "1", "--requests", "1"});
  EXPECT_EQ(compared.exit_code, 1);
  EXPECT_THAT(compared.err, HasSubstr("B: "));
}

TEST(CompareCommand, FindsTheSlowerServer) {
  const LimitedDaemon slow;  // with 16 rows, it is
  const ScriptedServer quick(
      {.stream_complete = [](auto&, const v1::CompleteRequest& request,
                             auto& writer) { return test_support::answer_at_once(request, writer); },
       .get_model = test_support::small_model});
  const Compared compared =
      run_compare({"slow=" + slow.address(), "quick=" + quick.address(), "--concurrency", "2", "--requests", "6",
                   "--warmup", "0", "--rounds", "5", "--slip-limit-ms", "10000"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_EQ(compared.report["rounds"], 5);
  const json& metrics = compared.report["comparisons"][0]["metrics"];
  EXPECT_EQ(metrics[0]["metric"], "output tokens/s");
  EXPECT_GT(metrics[0]["ratio"], 2);
  EXPECT_EQ(metrics[1]["verdict"], "quick is better");
  EXPECT_THAT(compared.out, HasSubstr("quick / slow"));
}

TEST(CompareCommand, FailsWhenAServerAnswersNothing) {
  const LimitedDaemon daemon;
  LimitedDaemon broken;
  broken.break_inference();
  const Compared compared = run_compare(
      {"A=" + daemon.address(), "B=" + broken.address(), "--concurrency", "1", "--requests", "1", "--warmup", "0"});
  EXPECT_EQ(compared.exit_code, 1);
  EXPECT_THAT(compared.err, HasSubstr("B: every request failed: broken"));
}

}  // namespace
}  // namespace sluice::bench
