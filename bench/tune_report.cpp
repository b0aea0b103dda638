#include "bench/tune_report.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "bench/trial_report.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDriftToMention = 0.05;
constexpr double kKvFull = 0.95;

std::vector<TrialRow> rows_of(const TuneOutcome& outcome) {
  std::vector<TrialRow> rows;
  for (const TunedArm& arm : outcome.arms) {
    TrialRow row = row_of(arm.setting, arm.trials);
    row.goodput = arm.goodput;  // with the drift in it
    row.concurrency = arm.concurrency;
    row.rate = arm.rate;
    rows.push_back(std::move(row));
  }
  return rows;
}

const TrialRow* find(const std::vector<TrialRow>& rows, const LimitSetting& setting) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const TrialRow& row) { return row.setting == setting; });
  return found == rows.end() ? nullptr : &*found;
}

/// The next larger batch that was tried, of the same other limits if there is one.
const TrialRow* past_the_knee(const std::vector<TrialRow>& rows, const LimitSetting& best) {
  const TrialRow* past = nullptr;
  const auto differs = [&](const TrialRow& row) {
    return row.setting.tokens_per_step != best.tokens_per_step || row.setting.tpot_target_ms != best.tpot_target_ms;
  };
  for (const TrialRow& row : rows) {
    // Nearer than a tenth is the same knee.
    if (row.setting.max_running < best.max_running * 1.1 + 0.5) continue;
    const auto rank = [&](const TrialRow& candidate) {
      return std::pair(differs(candidate), candidate.setting.max_running);
    };
    if (past == nullptr || rank(row) < rank(*past)) past = &row;
  }
  return past;
}

/// Those that differ in max_running alone: one curve.
std::vector<TrialRow> rows_beside(const std::vector<TrialRow>& rows, const LimitSetting& setting) {
  std::vector<TrialRow> beside;
  for (const TrialRow& row : rows) {
    const bool is_beside =
        row.setting.tokens_per_step == setting.tokens_per_step && row.setting.tpot_target_ms == setting.tpot_target_ms;
    if (is_beside) beside.push_back(row);
  }
  return beside;
}

std::string percent(double share) {
  return tidy_number(std::round(1000 * share) / 10) + " %";
}

/// Whether more rows still give more, within what was seen.
std::string throughput_trend(const TrialRow& best, const TrialRow& past) {
  const double change = past.throughput.mean / best.throughput.mean - 1;
  std::string text = "throughput " + std::string(change >= 0 ? "+" : "−") + percent(std::abs(change));
  if (is_surely_greater(past.throughput, best.throughput)) return text + ", still rising";
  if (is_surely_greater(best.throughput, past.throughput)) return text + ", falling";
  return text + ", no change beyond chance";
}

std::string broken_part(const TrialRow& row, const Slo& slo) {
  const auto answers = static_cast<double>(std::max<int64_t>(1, row.trial.answers()));
  const double ttft = static_cast<double>(row.trial.ttft_kept) / answers;
  const double tpot = static_cast<double>(row.trial.tpot_kept) / answers;
  std::string shares;
  if (slo.ttft) shares += "TTFT is kept by " + percent(ttft);
  if (slo.tpot) shares += std::string(shares.empty() ? "" : ", ") + "TPOT by " + percent(tpot);
  if (std::min(ttft, tpot) >= 0.99) return "the objective still holds (" + shares + ")";
  return std::string(ttft < tpot ? "TTFT" : "TPOT") + " breaks first (" + shares + ")";
}

std::string fullness_text(const TrialRow& row) {
  std::string text = "KV blocks used " + percent(row.trial.kv_used_share) + " on average, " +
                     percent(row.trial.kv_used_share_max) + " at most";
  if (row.trial.kv_used_share_max >= kKvFull || row.trial.kv_reserved_share >= kKvFull) text += ": the cache is full";
  if (row.trial.running_mean > 0 && row.trial.running_mean < 0.9 * row.setting.max_running) {
    text += "; " + tidy_number(row.trial.running_mean) + " of " + std::to_string(row.setting.max_running) +
            " rows were filled";
  }
  return text;
}

std::string verdict_name(TuneVerdict verdict) {
  switch (verdict) {
    case TuneVerdict::kFound:
      return "found";
    case TuneVerdict::kNotToldApart:
      return "not_told_apart";
    case TuneVerdict::kNothingGood:
      return "nothing_good";
    case TuneVerdict::kTooLittleTime:
      return "too_little_time";
  }
  return {};
}

std::string verdict_text(const TuneSubject& subject, const TuneOutcome& outcome) {
  if (subject.was_interrupted) return "Interrupted: the search had not come to its end, so there is no verdict.";
  if (!outcome.failure.ok()) return "Ended by a failure: " + outcome.failure.message() + ".";
  switch (outcome.verdict) {
    case TuneVerdict::kFound:
      return "Nothing else that was tried is better beyond chance (95 %); ties go to the smaller batch.";
    case TuneVerdict::kNotToldApart:
      return "The best as seen, but the budget ended before these could be told apart from it; a longer --budget "
             "would.";
    case TuneVerdict::kNothingGood:
      return "No setting kept " + subject.slo.text() + " for any request.";
    case TuneVerdict::kTooLittleTime:
      return "The budget is too small for a verdict: the search needs more time, or shorter requests "
             "(--prompt-tokens, --output-tokens).";
  }
  return {};
}

std::string drift_text(const TuneOutcome& outcome) {
  if (outcome.drift < kDriftToMention) return {};
  return "The machine drifted: trials of one setting lie " + percent(outcome.drift) +
         " apart (standard deviation) beyond what their batches explain; the intervals hold that.";
}

std::string time_text(const TuneSubject& subject, const TuneOutcome& outcome) {
  return tidy_number(std::round(outcome.elapsed_s)) + " s of " + tidy_number(subject.budget_s) + " s, " +
         std::to_string(outcome.order.size()) + " trials of " + std::to_string(outcome.arms.size()) + " settings";
}

std::string limits_text(const TuneSubject& subject) {
  if (!subject.limits_failure.empty()) return subject.limits_failure;
  return subject.was_applied ? std::string("The daemon runs with these limits now (--apply), until it restarts.")
                             : "The daemon's limits are as they were: " + describe(subject.before) + ".";
}

/// What a reader wants to know, in lines.
std::vector<std::string> findings(const TuneSubject& subject, const TuneOutcome& outcome,
                                  const std::vector<TrialRow>& rows) {
  std::vector<std::string> lines;
  const TrialRow* const best = outcome.best ? find(rows, *outcome.best) : nullptr;
  if (best != nullptr) {
    lines.push_back("Goodput " + tidy_number(best->goodput.mean) + " requests/s (" + interval_text(best->goodput) +
                    "), " + tidy_number(good_tokens_per_second(best->trial)) + " output tokens/s, within " +
                    subject.slo.text() + ".");
    lines.push_back("Knee: " + describe(best->setting) + "; " + fullness_text(*best) + ".");
    if (const TrialRow* const past = past_the_knee(rows, best->setting)) {
      lines.push_back("Past it, with " + describe(past->setting) + ": " + throughput_trend(*best, *past) + "; " +
                      broken_part(*past, subject.slo) + "; " + fullness_text(*past) + ".");
    } else {
      lines.emplace_back("Nothing larger was tried: the daemon's own max_running is the bound.");
    }
    if (const TrialRow* const before = find(rows, subject.before); before != nullptr && before != best) {
      lines.push_back("Before, with " + describe(before->setting) + ": " + tidy_number(before->goodput.mean) + " (" +
                      interval_text(before->goodput) + ").");
    }
  }
  lines.push_back(verdict_text(subject, outcome));
  for (const LimitSetting& other : outcome.not_told_apart) {
    const TrialRow* const row = find(rows, other);
    lines.push_back("  not told apart: " + describe(other) + ", " + tidy_number(row->goodput.mean) + " (" +
                    interval_text(row->goodput) + ")");
  }
  for (const std::string& remark : {drift_text(outcome), client_warning(rows)}) {
    if (!remark.empty()) lines.push_back(remark);
  }
  return lines;
}

}  // namespace

std::string tune_yaml(const LimitSetting& best) {
  std::ostringstream yaml;
  yaml << "scheduler:\n  max_running: " << best.max_running << "\n  tokens_per_step: " << best.tokens_per_step
       << "\n  tpot_target_ms: " << best.tpot_target_ms << '\n';
  return yaml.str();
}

std::string tune_text(const TuneSubject& subject, const TuneOutcome& outcome) {
  const std::vector<TrialRow> rows = rows_of(outcome);
  std::ostringstream out;
  out << subject.server << "; " << subject.load << '\n' << time_text(subject, outcome) << "\n\n";
  out << table_text(trial_table(rows, /*has_limits=*/true)) << '\n';
  for (const std::string& line : findings(subject, outcome, rows)) out << line << '\n';
  if (outcome.best && outcome.verdict != TuneVerdict::kTooLittleTime) {
    out << "\nFor the configuration (sluiced --config):\n\n" << tune_yaml(*outcome.best) << '\n';
  }
  out << limits_text(subject) << '\n';
  return out.str();
}

std::string tune_json(const TuneSubject& subject, const TuneOutcome& outcome) {
  const std::vector<TrialRow> rows = rows_of(outcome);
  const auto setting_json = [](const LimitSetting& setting) {
    return Json{{"max_running", setting.max_running},
                {"tokens_per_step", setting.tokens_per_step},
                {"tpot_target_ms", setting.tpot_target_ms}};
  };
  Json arms = Json::array();
  for (const TrialRow& row : rows) arms.push_back(Json::parse(trial_json(row)));
  Json order = Json::array();
  for (const LimitSetting& setting : outcome.order) order.push_back(setting_json(setting));
  Json others = Json::array();
  for (const LimitSetting& setting : outcome.not_told_apart) others.push_back(setting_json(setting));
  const TrialRow* const best = outcome.best ? find(rows, *outcome.best) : nullptr;
  const Json json{{"verdict", verdict_name(outcome.verdict)},
                  {"interrupted", subject.was_interrupted},
                  {"failure", outcome.failure.ok() ? Json(nullptr) : Json(outcome.failure.message())},
                  {"slo", subject.slo.text()},
                  {"best", best != nullptr ? Json::parse(trial_json(*best)) : Json(nullptr)},
                  {"yaml", outcome.best ? Json(tune_yaml(*outcome.best)) : Json(nullptr)},
                  {"not_told_apart", others},
                  {"drift", outcome.drift},
                  {"elapsed_s", outcome.elapsed_s},
                  {"budget_s", subject.budget_s},
                  {"limits_before", setting_json(subject.before)},
                  {"applied", subject.was_applied},
                  {"findings", findings(subject, outcome, rows)},
                  {"server", subject.server},
                  {"load", subject.load},
                  {"machine", machine_line()},
                  {"command", subject.command_line},
                  {"settings", arms},
                  {"order", order}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string tune_html(const TuneSubject& subject, const TuneOutcome& outcome) {
  const std::vector<TrialRow> rows = rows_of(outcome);
  HtmlReport report("sluice-bench tune: " + subject.slo.text());
  report.add_paragraph(subject.server + "; " + subject.load + ". " + time_text(subject, outcome) + ".");
  for (const std::string& line : findings(subject, outcome, rows)) report.add_paragraph(line);
  if (outcome.best && outcome.verdict != TuneVerdict::kTooLittleTime) report.add_code(tune_yaml(*outcome.best));
  report.add_paragraph(limits_text(subject));
  std::optional<double> knee;
  std::vector<std::pair<std::string, TrialRow>> compared;
  const TrialRow* const best = outcome.best ? find(rows, *outcome.best) : nullptr;
  const std::vector<TrialRow> line = best != nullptr ? rows_beside(rows, best->setting) : rows;
  if (best != nullptr) {
    knee = best->setting.max_running;
    compared.emplace_back("chosen: " + describe(best->setting), *best);
    if (const TrialRow* const past = past_the_knee(rows, best->setting)) {
      compared.emplace_back("past it: " + describe(past->setting), *past);
    }
  }
  report.add_plots({knee_plot(rows, TrialAxis::kMaxRunning, knee), kv_plot(line, TrialAxis::kMaxRunning),
                    latency_plot(line, TrialAxis::kMaxRunning, /*is_ttft=*/true, subject.slo),
                    latency_plot(line, TrialAxis::kMaxRunning, /*is_ttft=*/false, subject.slo),
                    cdf_plot(compared, /*is_ttft=*/true, subject.slo),
                    cdf_plot(compared, /*is_ttft=*/false, subject.slo)});
  report.add_heading("All settings that were tried");
  HtmlTable table = trial_table(rows, /*has_limits=*/true);
  if (best != nullptr) table.marked_row = static_cast<size_t>(best - rows.data());
  report.add_table(table);
  add_origin(report, subject.command_line, subject.server);
  return report.html();
}

}  // namespace sluice::bench
