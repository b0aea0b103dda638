#include "bench/trial_report.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

using testing::HasSubstr;

TrialRow row(int32_t running, double target_ms = 0) {
  Trial trial;
  trial.batches = {{.ended = 10, .whole = 10, .good = 9, .good_tokens = 90, .seconds = 1},
                   {.ended = 10, .whole = 10, .good = 10, .good_tokens = 100, .seconds = 1}};
  trial.measured_s = 2;
  trial.requests = 20;
  trial.output_tokens = 200;
  trial.ttft_ms = {10, 20};
  trial.tpot_ms = {1, 2};
  TrialRow made = row_of({.max_running = running, .tokens_per_step = 64, .tpot_target_ms = target_ms}, {trial});
  made.concurrency = running;
  return made;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TrialReport, HasAColumnForEveryCell) {
  const std::vector<std::string> lines = lines_of(trial_csv({row(1), row(2)}));
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(lines[0].begin(), lines[0].end(), ','));
  }
  for (const bool has_limits : {false, true}) {
    const HtmlTable table = trial_table({row(1)}, has_limits);
    EXPECT_EQ(table.rows[0].size(), table.head.size());
  }
}

TEST(TrialReport, AlignsColumnsByCharactersNotBytes) {
  const std::vector<std::string> lines = lines_of(table_text({.head = {"a", "b"}, .rows = {{"1", "–"}, {"22", "×3"}}}));
  EXPECT_EQ(lines, (std::vector<std::string>{" a   b", " 1   –", "22  ×3"}));
}

TEST(TrialReport, GivesTheSameFiguresEverywhere) {
  const nlohmann::json json = nlohmann::json::parse(trial_json(row(4)));
  EXPECT_EQ(json["goodput_requests_per_second"]["mean"], 9.5);
  EXPECT_EQ(json["goodput_tokens_per_second"], 95);
  EXPECT_EQ(json["output_tokens_per_second"], 100);
  EXPECT_THAT(trial_csv({row(4)}), HasSubstr("\n4,64,0,4,,9.5,"));
  EXPECT_TRUE(json["client_limit"].is_null());
}

TEST(TrialReport, LeavesUnknownIntervalsOpen) {
  TrialRow lonely = row(4);
  lonely.trial.batches.resize(1);
  lonely = row_of(lonely.setting, {lonely.trial});
  EXPECT_EQ(interval_text(lonely.goodput), "unknown");
  const nlohmann::json json = nlohmann::json::parse(trial_json(lonely));
  EXPECT_TRUE(json["goodput_requests_per_second"]["low"].is_null());
  EXPECT_THAT(trial_csv({lonely}), HasSubstr(",9,,,"));
}

TEST(TrialReport, SaysWhereTheClientWasTheLimit) {
  EXPECT_EQ(client_warning({row(1), row(2)}), "");
  TrialRow limited = row(2);
  limited.trial.client_limit = "its processor was full";
  EXPECT_THAT(client_warning({row(1), limited}),
              HasSubstr("In 1 of 2 settings the client was the limit (its processor"));
}

TEST(TrialPlots, DrawACurveForEachSettingBesideTheAxis) {
  const Plot plot = knee_plot({row(4), row(1), row(2, 40), row(8), row(8, 40)}, TrialAxis::kMaxRunning, 4);
  ASSERT_EQ(plot.series.size(), 3U);
  EXPECT_EQ(plot.series[0].points.size(), 3U);
  EXPECT_LT(plot.series[0].points[0].x, plot.series[0].points[1].x);
  EXPECT_EQ(plot.series[1].points.size(), 2U);
  EXPECT_THAT(plot.series[2].name, HasSubstr("all requests"));
  ASSERT_EQ(plot.x_marks.size(), 1U);
  EXPECT_EQ(plot.x_marks[0].at, 4);
}

TEST(TrialPlots, ShowTheObjectiveWhereThereIsOne) {
  const Slo slo = *parse_slo("ttft=1s");
  EXPECT_EQ(latency_plot({row(1)}, TrialAxis::kMaxRunning, true, slo).y_marks.at(0).at, 1000);
  EXPECT_TRUE(latency_plot({row(1)}, TrialAxis::kMaxRunning, false, slo).y_marks.empty());
  EXPECT_EQ(cdf_plot({{"x", row(1)}}, true, slo).series.at(0).points.size(), 101U);
  EXPECT_EQ(kv_plot({row(1), row(2, 40), row(4, 40)}, TrialAxis::kMaxRunning).series.at(0).points.size(), 2U);
}

TEST(TrialPlots, BearThatNothingWasMeasured) {
  EXPECT_TRUE(knee_plot({}, TrialAxis::kConcurrency, std::nullopt).series.empty());
  EXPECT_THAT(svg_of(latency_plot({}, TrialAxis::kRate, true, {})), HasSubstr("no data"));
  EXPECT_THAT(svg_of(kv_plot({}, TrialAxis::kRate)), HasSubstr("no data"));
}

}  // namespace
}  // namespace sluice::bench
