#include "bench/compare_report.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "bench/html_report.h"
#include "bench/trial_report.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string ratio_text(const RatioEstimate& ratio) {
  if (ratio.pairs == 0) return "–";
  const std::string text = tidy_number(ratio.ratio) + "×";
  if (!std::isfinite(ratio.interval.high)) return text;
  return text + " (" + tidy_number(ratio.interval.low) + " to " + tidy_number(ratio.interval.high) + ")";
}

/// Prompts are the same tokens only where both servers count the same.
std::string prompt_warning(const ComparedServers& compared) {
  std::vector<double> per_answer;
  for (const std::vector<Report>& rounds : compared.reports) {
    double tokens = 0;
    double answers = 0;
    for (const Report& round : rounds) {
      tokens += static_cast<double>(round.prompt_tokens);
      answers += static_cast<double>(round.requests - round.errors);
    }
    if (answers > 0 && tokens > 0) per_answer.push_back(tokens / answers);
  }
  const auto [least, most] = std::minmax_element(per_answer.begin(), per_answer.end());
  if (per_answer.size() < 2 || *most <= 1.02 * *least) return {};
  return "The servers do not count the same prompts: " + tidy_number(*least) + " to " + tidy_number(*most) +
         " tokens each. With --vocab-size, token ids are sent to all of them.";
}

HtmlTable table_of(const ComparedServers& compared, size_t which) {
  const std::string& base = compared.contenders[0].name;
  const std::string& other = compared.contenders[which].name;
  HtmlTable table{.head = {"median of rounds", base, other, other + " / " + base, "verdict"}, .rows = {}};
  for (const Comparison& comparison : compare(compared.contenders, compared.reports, which, compared.has_slo)) {
    // The reason is the same for all, and told below.
    const std::string verdict = comparison.verdict.substr(0, comparison.verdict.find(": "));
    table.rows.push_back({comparison.metric, tidy_number(median_of(comparison.base)),
                          tidy_number(median_of(comparison.other)), ratio_text(comparison.ratio), verdict});
  }
  return table;
}

/// Why there is no verdict on anything, where that is so.
std::string objection_text(const ComparedServers& compared, size_t which) {
  const std::vector<Comparison> comparisons = compare(compared.contenders, compared.reports, which, compared.has_slo);
  const std::string& verdict = comparisons.front().verdict;
  return verdict.starts_with("no verdict: ") ? "No verdict: " + verdict.substr(12) + "." : std::string();
}

size_t rounds_of(const ComparedServers& compared) {
  size_t rounds = SIZE_MAX;
  for (const std::vector<Report>& reports : compared.reports) rounds = std::min(rounds, reports.size());
  return rounds;
}

std::string head_text(const ComparedServers& compared) {
  std::string text;
  for (size_t i = 0; i < compared.contenders.size(); ++i) {
    text += compared.contenders[i].name + ": " + compared.servers[i] + "\n";
  }
  return text + compared.load + "; " + std::to_string(rounds_of(compared)) + " rounds";
}

Plot round_plot(const ComparedServers& compared, const ComparedMetric& metric) {
  Plot plot{.title = metric.name, .x_label = "round", .y_label = metric.name, .series = {}};
  for (size_t i = 0; i < compared.contenders.size(); ++i) {
    PlotSeries series{.name = compared.contenders[i].name, .points = {}};
    for (size_t round = 0; round < compared.reports[i].size(); ++round) {
      series.points.push_back({.x = static_cast<double>(round + 1), .y = metric.of(compared.reports[i][round])});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot distribution_plot(const ComparedServers& compared, bool is_ttft) {
  Plot plot{.title = is_ttft ? "Time to first token: share of answers" : "Time per output token: share of answers",
            .x_label = "ms",
            .y_label = "% of answers at most so long",
            .x_scale = Scale::kLog,
            .series = {}};
  for (size_t i = 0; i < compared.contenders.size(); ++i) {
    LatencyHistogram all;
    for (const Report& round : compared.reports[i]) all.merge(is_ttft ? round.ttft : round.tpot);
    PlotSeries series{.name = compared.contenders[i].name, .points = {}, .has_dots = false};
    for (int percent = 1; percent <= 100 && all.count() > 0; ++percent) {
      series.points.push_back(
          {.x = to_milliseconds(all.percentile(percent / 100.0)), .y = static_cast<double>(percent)});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace

std::string compare_text(const ComparedServers& compared) {
  std::ostringstream out;
  out << head_text(compared) << '\n';
  for (size_t which = 1; which < compared.contenders.size(); ++which) {
    out << '\n' << table_text(table_of(compared, which));
    if (const std::string objection = objection_text(compared, which); !objection.empty()) out << objection << '\n';
  }
  if (const std::string warning = prompt_warning(compared); !warning.empty()) out << '\n' << warning << '\n';
  return out.str();
}

std::string compare_json(const ComparedServers& compared) {
  Json pairs = Json::array();
  for (size_t which = 1; which < compared.contenders.size(); ++which) {
    Json metrics = Json::array();
    for (const Comparison& comparison : compare(compared.contenders, compared.reports, which, compared.has_slo)) {
      const Interval& interval = comparison.ratio.interval;
      const bool is_known = std::isfinite(interval.high);
      metrics.push_back({{"metric", comparison.metric},
                         {"more_is_better", comparison.is_more_better},
                         {"base", comparison.base},
                         {"other", comparison.other},
                         {"ratio", comparison.ratio.ratio},
                         {"low", is_known ? Json(interval.low) : Json(nullptr)},
                         {"high", is_known ? Json(interval.high) : Json(nullptr)},
                         {"verdict", comparison.verdict}});
    }
    pairs.push_back(
        {{"base", compared.contenders[0].name}, {"other", compared.contenders[which].name}, {"metrics", metrics}});
  }
  Json servers = Json::array();
  for (size_t i = 0; i < compared.contenders.size(); ++i) {
    servers.push_back({{"name", compared.contenders[i].name},
                       {"address", compared.contenders[i].address},
                       {"server", compared.servers[i]}});
  }
  const std::string warning = prompt_warning(compared);
  const Json json{{"servers", servers},
                  {"rounds", rounds_of(compared)},
                  {"comparisons", pairs},
                  {"warning", warning.empty() ? Json(nullptr) : Json(warning)},
                  {"load", compared.load},
                  {"machine", machine_line()},
                  {"command", compared.command_line}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string compare_html(const ComparedServers& compared) {
  std::string title = "sluice-bench compare:";
  for (const Contender& contender : compared.contenders) title += " " + contender.name;
  HtmlReport report(title);
  report.add_paragraph(
      compared.load + "; " + std::to_string(rounds_of(compared)) +
      " rounds, each with every server in turn. Ratios are taken within a round; intervals hold 95 %.");
  for (size_t which = 1; which < compared.contenders.size(); ++which) {
    report.add_heading(compared.contenders[which].name + " against " + compared.contenders[0].name);
    report.add_table(table_of(compared, which));
    if (const std::string objection = objection_text(compared, which); !objection.empty()) {
      report.add_paragraph(objection);
    }
  }
  if (const std::string warning = prompt_warning(compared); !warning.empty()) report.add_paragraph(warning);
  const std::vector<ComparedMetric> metrics = compared_metrics(compared.has_slo);
  report.add_plots({distribution_plot(compared, /*is_ttft=*/true), distribution_plot(compared, /*is_ttft=*/false),
                    round_plot(compared, metrics[0]), round_plot(compared, metrics[1])});
  std::string servers;
  for (size_t i = 0; i < compared.contenders.size(); ++i) {
    servers += (i > 0 ? "\n        " : "") + compared.contenders[i].name + ": " + compared.servers[i];
  }
  add_origin(report, compared.command_line, servers);
  return report.html();
}

}  // namespace sluice::bench
