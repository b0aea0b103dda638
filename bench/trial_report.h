#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/html_report.h"
#include "bench/slo.h"
#include "bench/trial.h"

namespace sluice::bench {

/// All that was measured at one point, as reports show it.
struct TrialRow {
  LimitSetting setting;
  std::optional<int32_t> concurrency;
  std::optional<double> rate;
  Trial trial;          ///< all trials of it merged
  Estimate goodput;     ///< requests/s within the SLO
  Estimate throughput;  ///< whole answers per second
  size_t trial_count = 1;
};

/// One trial's, or several merged ones'.
TrialRow row_of(const LimitSetting& setting, const std::vector<Trial>& trials);

/// Output tokens per second of answers within the SLO.
double good_tokens_per_second(const Trial& trial);
/// "8.1 to 9.4", or "unknown".
std::string interval_text(const Estimate& estimate);

/// The same columns for people, for HTML and for spreadsheets; those of limits only with `has_limits`.
HtmlTable trial_table(const std::vector<TrialRow>& rows, bool has_limits);
std::string trial_csv(const std::vector<TrialRow>& rows);
/// The table in columns of text.
std::string table_text(const HtmlTable& table);

/// "In 2 of 9 settings the client was the limit (why), so …", or nothing.
std::string client_warning(const std::vector<TrialRow>& rows);

/// A JSON object of one row, as text.
std::string trial_json(const TrialRow& row);

/// What the x axis of plots over rows is.
enum class TrialAxis { kMaxRunning, kConcurrency, kRate };

/// Goodput with its intervals and throughput over the axis, a series of goodput for each other setting that has several
/// points; the point at `knee` is marked.
Plot knee_plot(const std::vector<TrialRow>& rows, TrialAxis axis, std::optional<double> knee);
/// Median and p99 of TTFT or TPOT over output tokens per second, as the axis goes on: of the rows that differ on it
/// alone, if several groups do the largest one.
Plot latency_plot(const std::vector<TrialRow>& rows, TrialAxis axis, bool is_ttft, const Slo& slo);
/// Distributions of the rows, by their names.
Plot cdf_plot(const std::vector<std::pair<std::string, TrialRow>>& rows, bool is_ttft, const Slo& slo);
/// Used and reserved KV blocks over the axis, of the same rows.
Plot kv_plot(const std::vector<TrialRow>& rows, TrialAxis axis);

/// What the page says at its end: command, machine and server.
void add_origin(HtmlReport& report, const std::string& command_line, const std::string& server);

}  // namespace sluice::bench
