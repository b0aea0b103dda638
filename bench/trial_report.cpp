#include "bench/trial_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "bench/summary.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) {
  return tidy_number(100 * share) + " %";
}

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string load_text(const TrialRow& row) {
  if (row.rate) return tidy_number(*row.rate) + "/s";
  return row.concurrency ? std::to_string(*row.concurrency) : "–";
}

struct Column {
  const char* name;
  std::string (*text)(const TrialRow&);
};

const std::vector<Column>& limit_columns() {
  static const std::vector<Column> columns{
      {"max running", [](const TrialRow& row) { return std::to_string(row.setting.max_running); }},
      {"tokens/step", [](const TrialRow& row) { return std::to_string(row.setting.tokens_per_step); }},
      {"TPOT target ms", [](const TrialRow& row) {
         return row.setting.tpot_target_ms > 0 ? tidy_number(row.setting.tpot_target_ms) : std::string("none");
       }}};
  return columns;
}

const std::vector<Column>& figure_columns() {
  static const std::vector<Column> columns{
      {"load", load_text},
      {"good req/s", [](const TrialRow& row) { return tidy_number(row.goodput.mean); }},
      {"95 %", [](const TrialRow& row) { return interval_text(row.goodput); }},
      {"good tok/s", [](const TrialRow& row) { return tidy_number(good_tokens_per_second(row.trial)); }},
      {"all tok/s", [](const TrialRow& row) { return tidy_number(row.trial.tokens_per_second()); }},
      {"TTFT p50", [](const TrialRow& row) { return tidy_number(summarize(row.trial.ttft_ms).p50); }},
      {"TTFT p99", [](const TrialRow& row) { return tidy_number(summarize(row.trial.ttft_ms).p99); }},
      {"TPOT p50", [](const TrialRow& row) { return tidy_number(summarize(row.trial.tpot_ms).p50); }},
      {"TPOT p99", [](const TrialRow& row) { return tidy_number(summarize(row.trial.tpot_ms).p99); }},
      {"TTFT kept", [](const TrialRow& row) { return percent(share_of(row.trial.ttft_kept, row.trial.answers())); }},
      {"TPOT kept", [](const TrialRow& row) { return percent(share_of(row.trial.tpot_kept, row.trial.answers())); }},
      {"KV used", [](const TrialRow& row) { return percent(row.trial.kv_used_share); }},
      {"requests", [](const TrialRow& row) { return std::to_string(row.trial.requests); }},
      {"errors", [](const TrialRow& row) { return std::to_string(row.trial.errors); }},
      {"trials", [](const TrialRow& row) { return std::to_string(row.trial_count); }},
      {"seconds", [](const TrialRow& row) { return tidy_number(row.trial.settle_s + row.trial.measured_s); }}};
  return columns;
}

double place_of(const TrialRow& row, TrialAxis axis) {
  switch (axis) {
    case TrialAxis::kMaxRunning:
      return row.setting.max_running;
    case TrialAxis::kConcurrency:
      return row.concurrency.value_or(0);
    case TrialAxis::kRate:
      return row.rate.value_or(0);
  }
  return 0;
}

std::string axis_label(TrialAxis axis) {
  switch (axis) {
    case TrialAxis::kMaxRunning:
      return "max running";
    case TrialAxis::kConcurrency:
      return "requests in flight";
    case TrialAxis::kRate:
      return "requests sent per second";
  }
  return {};
}

Scale axis_scale(TrialAxis axis) {
  return axis == TrialAxis::kRate ? Scale::kLinear : Scale::kLog2;
}

/// What is not on the axis.
std::string other_setting(const TrialRow& row, TrialAxis axis) {
  LimitSetting setting = row.setting;
  if (axis != TrialAxis::kMaxRunning) return describe(setting);
  std::string text = std::to_string(setting.tokens_per_step) + " tokens/step, ";
  return text + (setting.tpot_target_ms > 0 ? tidy_number(setting.tpot_target_ms) + " ms" : "no target");
}

std::vector<TrialRow> sorted_by(std::vector<TrialRow> rows, TrialAxis axis) {
  std::stable_sort(rows.begin(), rows.end(),
                   [axis](const TrialRow& a, const TrialRow& b) { return place_of(a, axis) < place_of(b, axis); });
  return rows;
}

/// The largest groups of rows that differ on the axis alone, with their names.
std::vector<std::pair<std::string, std::vector<TrialRow>>> lines_of(const std::vector<TrialRow>& rows, TrialAxis axis,
                                                                    size_t lines_max) {
  std::map<std::string, std::vector<TrialRow>> groups;
  for (const TrialRow& row : sorted_by(rows, axis)) groups[other_setting(row, axis)].push_back(row);
  std::vector<std::pair<std::string, std::vector<TrialRow>>> lines(groups.begin(), groups.end());
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  if (lines.size() > lines_max) lines.resize(lines_max);
  return lines;
}

std::vector<TrialRow> longest_line(const std::vector<TrialRow>& rows, TrialAxis axis) {
  const auto lines = lines_of(rows, axis, 1);
  return lines.empty() ? std::vector<TrialRow>() : lines.front().second;
}

std::optional<Duration> bound_of(const Slo& slo, bool is_ttft) {
  return is_ttft ? slo.ttft : slo.tpot;
}

const std::vector<double>& samples_of(const Trial& trial, bool is_ttft) {
  return is_ttft ? trial.ttft_ms : trial.tpot_ms;
}

Json summary_json(const std::vector<double>& samples) {
  const Summary summary = summarize(samples);
  if (summary.count == 0) return {{"p50", nullptr}, {"p90", nullptr}, {"p99", nullptr}, {"mean", nullptr}};
  return {{"p50", summary.p50}, {"p90", summary.p90}, {"p99", summary.p99}, {"mean", summary.mean}};
}

Json estimate_json(const Estimate& estimate) {
  const Interval interval = interval_of(estimate);
  const bool is_known = std::isfinite(interval.low);
  return {{"mean", estimate.mean},
          {"low", is_known ? Json(interval.low) : Json(nullptr)},
          {"high", is_known ? Json(interval.high) : Json(nullptr)}};
}

}  // namespace

TrialRow row_of(const LimitSetting& setting, const std::vector<Trial>& trials) {
  TrialRow row{.setting = setting,
               .concurrency = std::nullopt,
               .rate = std::nullopt,
               .trial = merged(trials),
               .goodput = {},
               .throughput = {},
               .trial_count = trials.size()};
  row.goodput = goodput_of(row.trial.batches);
  row.throughput = throughput_of(row.trial.batches);
  return row;
}

double good_tokens_per_second(const Trial& trial) {
  double tokens = 0;
  double seconds = 0;
  for (const TrialBatch& batch : trial.batches) {
    tokens += static_cast<double>(batch.good_tokens);
    seconds += batch.seconds;
  }
  return seconds > 0 ? tokens / seconds : 0;
}

std::string interval_text(const Estimate& estimate) {
  const Interval interval = interval_of(estimate);
  if (!std::isfinite(interval.low)) return "unknown";
  return tidy_number(std::max(0.0, interval.low)) + " to " + tidy_number(interval.high);
}

HtmlTable trial_table(const std::vector<TrialRow>& rows, bool has_limits) {
  std::vector<Column> columns = figure_columns();
  if (has_limits) columns.insert(columns.begin(), limit_columns().begin(), limit_columns().end());
  HtmlTable table;
  for (const Column& column : columns) table.head.emplace_back(column.name);
  for (const TrialRow& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const Column& column : columns) cells.push_back(column.text(row));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string table_text(const HtmlTable& table) {
  std::vector<size_t> widths;
  // Bytes that go on with a character (UTF-8) take no place.
  const auto width = [](const std::string& cell) {
    return static_cast<size_t>(
        std::count_if(cell.begin(), cell.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
  };
  for (size_t column = 0; column < table.head.size(); ++column) {
    size_t widest = width(table.head[column]);
    for (const auto& row : table.rows) widest = std::max(widest, width(row[column]));
    widths.push_back(widest);
  }
  std::ostringstream out;
  const auto print = [&](const std::vector<std::string>& cells) {
    for (size_t column = 0; column < cells.size(); ++column) {
      out << std::string(widths[column] - width(cells[column]) + (column > 0 ? 2 : 0), ' ') << cells[column];
    }
    out << '\n';
  };
  print(table.head);
  for (const auto& row : table.rows) print(row);
  return out.str();
}

std::string client_warning(const std::vector<TrialRow>& rows) {
  const auto is_limited = [](const TrialRow& row) { return !row.trial.client_limit.empty(); };
  const auto count = std::count_if(rows.begin(), rows.end(), is_limited);
  if (count == 0) return {};
  const TrialRow& first = *std::find_if(rows.begin(), rows.end(), is_limited);
  return "In " + std::to_string(count) + " of " + std::to_string(rows.size()) + " settings the client was the limit (" +
         first.trial.client_limit + "), so their figures are partly the client's: there is no verdict on them.";
}

std::string trial_csv(const std::vector<TrialRow>& rows) {
  std::ostringstream out;
  out << "max_running,tokens_per_step,tpot_target_ms,concurrency,rate,good_requests_per_second,low,high,"
         "good_tokens_per_second,output_tokens_per_second,ttft_p50_ms,ttft_p99_ms,tpot_p50_ms,tpot_p99_ms,requests,"
         "errors,ttft_kept,tpot_kept,kv_used,kv_used_max,kv_reserved,running,settle_s,measured_s\n";
  out << std::setprecision(6);
  for (const TrialRow& row : rows) {
    const Interval interval = interval_of(row.goodput);
    const Trial& trial = row.trial;
    out << row.setting.max_running << ',' << row.setting.tokens_per_step << ',' << row.setting.tpot_target_ms << ',';
    if (row.concurrency) out << *row.concurrency;
    out << ',';
    if (row.rate) out << *row.rate;
    out << ',' << row.goodput.mean << ',';
    if (std::isfinite(interval.low)) out << interval.low;
    out << ',';
    if (std::isfinite(interval.high)) out << interval.high;
    const Summary ttft = summarize(trial.ttft_ms);
    const Summary tpot = summarize(trial.tpot_ms);
    for (const double figure :
         {good_tokens_per_second(trial), trial.tokens_per_second(), ttft.p50, ttft.p99, tpot.p50, tpot.p99,
          static_cast<double>(trial.requests), static_cast<double>(trial.errors),
          share_of(trial.ttft_kept, trial.answers()), share_of(trial.tpot_kept, trial.answers()), trial.kv_used_share,
          trial.kv_used_share_max, trial.kv_reserved_share, trial.running_mean, trial.settle_s, trial.measured_s}) {
      out << ',' << figure;
    }
    out << '\n';
  }
  return out.str();
}

std::string trial_json(const TrialRow& row) {
  const Trial& trial = row.trial;
  const Json json{{"max_running", row.setting.max_running},
                  {"tokens_per_step", row.setting.tokens_per_step},
                  {"tpot_target_ms", row.setting.tpot_target_ms},
                  {"concurrency", row.concurrency ? Json(*row.concurrency) : Json(nullptr)},
                  {"rate", row.rate ? Json(*row.rate) : Json(nullptr)},
                  {"goodput_requests_per_second", estimate_json(row.goodput)},
                  {"goodput_tokens_per_second", good_tokens_per_second(trial)},
                  {"requests_per_second", estimate_json(row.throughput)},
                  {"output_tokens_per_second", trial.tokens_per_second()},
                  {"ttft_ms", summary_json(trial.ttft_ms)},
                  {"tpot_ms", summary_json(trial.tpot_ms)},
                  {"requests", trial.requests},
                  {"errors", trial.errors},
                  {"ttft_kept_share", share_of(trial.ttft_kept, trial.answers())},
                  {"tpot_kept_share", share_of(trial.tpot_kept, trial.answers())},
                  {"kv_used_share", trial.kv_used_share},
                  {"kv_used_share_max", trial.kv_used_share_max},
                  {"kv_reserved_share", trial.kv_reserved_share},
                  {"running_mean", trial.running_mean},
                  {"slip_p99_ms", trial.slip_p99_ms},
                  {"client_limit", trial.client_limit.empty() ? Json(nullptr) : Json(trial.client_limit)},
                  {"trials", row.trial_count},
                  {"batches", trial.batches.size()},
                  {"settle_s", trial.settle_s},
                  {"measured_s", trial.measured_s}};
  return json.dump();
}

Plot knee_plot(const std::vector<TrialRow>& rows, TrialAxis axis, std::optional<double> knee) {
  Plot plot{.title = "Requests per second within the objective",
            .x_label = axis_label(axis),
            .y_label = "requests/s",
            .x_scale = axis_scale(axis),
            .series = {}};
  const auto lines = lines_of(rows, axis, 5);
  for (const auto& [name, line] : lines) {
    PlotSeries series{.name = name, .points = {}};
    for (const TrialRow& row : line) {
      series.points.push_back({.x = place_of(row, axis),
                               .y = row.goodput.mean,
                               .bar = interval_of(row.goodput),
                               .label = describe(row.setting) + ": " + tidy_number(row.goodput.mean) + " good/s (" +
                                        interval_text(row.goodput) + ")"});
    }
    plot.series.push_back(std::move(series));
  }
  if (!lines.empty()) {
    PlotSeries all{.name = "all requests, " + lines.front().first, .points = {}, .has_dots = false};
    for (const TrialRow& row : lines.front().second) {
      all.points.push_back({.x = place_of(row, axis), .y = row.throughput.mean});
    }
    plot.series.push_back(std::move(all));
  }
  if (knee) plot.x_marks.push_back({.at = *knee, .text = "chosen"});
  return plot;
}

Plot latency_plot(const std::vector<TrialRow>& rows, TrialAxis axis, bool is_ttft, const Slo& slo) {
  Plot plot{.title = is_ttft ? "Time to first token over throughput" : "Time per output token over throughput",
            .x_label = "output tokens/s, all answers",
            .y_label = is_ttft ? "TTFT, ms" : "TPOT, ms",
            .y_scale = Scale::kLog,
            .series = {{.name = "p50", .points = {}}, {.name = "p99", .points = {}}}};
  for (const TrialRow& row : longest_line(rows, axis)) {
    const Summary summary = summarize(samples_of(row.trial, is_ttft));
    if (summary.count == 0) continue;
    const double tokens = row.trial.tokens_per_second();
    plot.series[0].points.push_back({.x = tokens, .y = summary.p50, .label = describe(row.setting)});
    plot.series[1].points.push_back({.x = tokens, .y = summary.p99, .label = describe(row.setting)});
  }
  if (const auto bound = bound_of(slo, is_ttft)) {
    plot.y_marks.push_back({.at = to_milliseconds(*bound), .text = "objective"});
  }
  return plot;
}

Plot cdf_plot(const std::vector<std::pair<std::string, TrialRow>>& rows, bool is_ttft, const Slo& slo) {
  Plot plot{.title = is_ttft ? "Time to first token: share of answers" : "Time per output token: share of answers",
            .x_label = "ms",
            .y_label = "% of answers at most so long",
            .x_scale = Scale::kLog,
            .series = {}};
  for (const auto& [name, row] : rows) {
    PlotSeries series{.name = name, .points = {}, .has_dots = false};
    const std::vector<double> percentiles = percentiles_of(samples_of(row.trial, is_ttft));
    for (size_t percentile = 0; percentile < percentiles.size(); ++percentile) {
      series.points.push_back({.x = percentiles[percentile], .y = static_cast<double>(percentile)});
    }
    plot.series.push_back(std::move(series));
  }
  if (const auto bound = bound_of(slo, is_ttft)) {
    plot.x_marks.push_back({.at = to_milliseconds(*bound), .text = "objective"});
  }
  return plot;
}

Plot kv_plot(const std::vector<TrialRow>& rows, TrialAxis axis) {
  Plot plot{.title = "KV blocks",
            .x_label = axis_label(axis),
            .y_label = "% of all blocks",
            .x_scale = axis_scale(axis),
            .series = {{.name = "used, mean", .points = {}},
                       {.name = "used, most", .points = {}},
                       {.name = "reserved, mean", .points = {}}}};
  for (const TrialRow& row : longest_line(rows, axis)) {
    const double place = place_of(row, axis);
    plot.series[0].points.push_back({.x = place, .y = 100 * row.trial.kv_used_share});
    plot.series[1].points.push_back({.x = place, .y = 100 * row.trial.kv_used_share_max});
    plot.series[2].points.push_back({.x = place, .y = 100 * row.trial.kv_reserved_share});
  }
  return plot;
}

void add_origin(HtmlReport& report, const std::string& command_line, const std::string& server) {
  report.add_heading("How this was made");
  report.add_code(command_line + "\n\nserver  " + server + "\nmachine " + machine_line() + " (the client's)");
}

}  // namespace sluice::bench
