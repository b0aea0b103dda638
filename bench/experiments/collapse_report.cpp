#include <iomanip>
#include <sstream>

#include <nlohmann/json.hpp>

#include "bench/experiments/batch_size_collapse.h"
#include "bench/html_report.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string>& columns() {
  static const std::vector<std::string> names{"max running", "tokens/s", "TTFT p50 ms", "TTFT p99 ms", "gap p99 ms",
                                              "e2e p99 ms",  "finished", "refused",     "evictions",   "twice"};
  return names;
}

std::vector<std::string> cells_of(const CollapseFigures& figures) {
  std::vector<std::string> cells;
  for (const double value : {static_cast<double>(figures.max_running), figures.tokens_per_s, figures.ttft_p50_ms,
                             figures.ttft_p99_ms, figures.gap_p99_ms, figures.e2e_p99_ms,
                             static_cast<double>(figures.finished), static_cast<double>(figures.refused),
                             static_cast<double>(figures.evictions), static_cast<double>(figures.computed_twice)}) {
    cells.push_back(tidy_number(value));
  }
  return cells;
}

std::string load_text(const CollapseConfig& config) {
  std::ostringstream text;
  text << config.requests << " requests at " << config.rate << "/s (Poisson), prompts of " << config.prompt_tokens
       << " tokens on average, answers of " << config.output_tokens << "; " << config.block_count << " KV blocks of "
       << config.block_size << " tokens, which hold " << rows_that_fit(config)
       << " such sequences to their last token; up to " << config.max_queued_requests << " requests wait, "
       << config.tokens_per_step << " tokens per step.";
  return text.str();
}

std::string price_text(const CollapseConfig& config) {
  std::ostringstream text;
  text << "Simulated time with measured prices: a step takes " << config.prices.fixed_ms << " ms + "
       << config.prices.prefill_token_ms << " per prompt token + " << config.prices.decode_row_ms << " per row + "
       << 1000 * config.prices.context_token_ms << " per 1000 keys of rows.";
  return text.str();
}

void print(std::ostream& out, const std::string& name, const std::vector<CollapseFigures>& rows) {
  out << name << '\n';
  for (const std::string& column : columns()) out << std::setw(12) << column;
  out << '\n';
  for (const CollapseFigures& figures : rows) {
    for (const std::string& cell : cells_of(figures)) out << std::setw(12) << cell;
    out << '\n';
  }
  out << '\n';
}

Json to_json(const std::vector<CollapseFigures>& rows) {
  Json list = Json::array();
  for (const CollapseFigures& figures : rows) {
    list.push_back({{"max_running", figures.max_running},
                    {"output_tokens_per_second", figures.tokens_per_s},
                    {"ttft_ms", {{"p50", figures.ttft_p50_ms}, {"p99", figures.ttft_p99_ms}}},
                    {"longest_gap_p99_ms", figures.gap_p99_ms},
                    {"e2e_p99_ms", figures.e2e_p99_ms},
                    {"seconds", figures.seconds},
                    {"finished", figures.finished},
                    {"refused", figures.refused},
                    {"evictions", figures.evictions},
                    {"tokens_computed_twice", figures.computed_twice}});
  }
  return list;
}

Plot plot_of(const CollapseConfig& config, const CollapseResult& result, const std::string& title,
             const std::string& unit, double CollapseFigures::*figure) {
  const auto series = [&](const std::string& name, const std::vector<CollapseFigures>& rows) {
    PlotSeries line{.name = name, .points = {}};
    for (const CollapseFigures& row : rows) {
      line.points.push_back({.x = static_cast<double>(row.max_running), .y = row.*figure});
    }
    return line;
  };
  return {.title = title,
          .x_label = "max running",
          .y_label = unit,
          .x_scale = Scale::kLog2,
          .series = {series("naive", result.naive), series("plan", result.plan)},
          .x_marks = {{.at = static_cast<double>(rows_that_fit(config)), .text = "KV holds so many"}}};
}

}  // namespace

std::string collapse_text(const CollapseConfig& config, const CollapseResult& result) {
  std::ostringstream out;
  out << load_text(config) << '\n' << price_text(config) << "\n\n";
  print(out, "naive: admits on prompt size, throws out and computes again", result.naive);
  print(out, "plan: the shipped scheduler with scheduler.admission: plan", result.plan);
  return out.str();
}

std::string collapse_json(const CollapseConfig& config, const CollapseResult& result) {
  const Json json{{"simulated", true},
                  {"rate", config.rate},
                  {"requests", config.requests},
                  {"prompt_tokens", config.prompt_tokens},
                  {"output_tokens", config.output_tokens},
                  {"max_queued_requests", config.max_queued_requests},
                  {"tokens_per_step", config.tokens_per_step},
                  {"blocks", config.block_count},
                  {"block_size", config.block_size},
                  {"rows_that_fit", rows_that_fit(config)},
                  {"seed", config.seed},
                  {"step_ms",
                   {{"fixed", config.prices.fixed_ms},
                    {"prefill_token", config.prices.prefill_token_ms},
                    {"decode_row", config.prices.decode_row_ms},
                    {"context_token", config.prices.context_token_ms},
                    {"prefill_pair", config.prices.prefill_pair_ms}}},
                  {"naive", to_json(result.naive)},
                  {"plan", to_json(result.plan)}};
  return json.dump(2);
}

std::string collapse_html(const CollapseConfig& config, const CollapseResult& result, const std::string& command_line) {
  HtmlReport report("What a larger batch does when the KV cache is full");
  report.add_paragraph(
      "A larger batch reads the weights once for more tokens, so throughput rises, until the KV cache of all the "
      "sequences no longer fits. The naive server admits whoever's prompt fits now; when blocks run out it throws the "
      "newest sequence out and computes it again later. `plan` admits only what the cache can carry to the last token. "
      "The same requests come to both.");
  report.add_paragraph(load_text(config));
  report.add_paragraph(price_text(config));
  report.add_plots(
      {plot_of(config, result, "Time to first token, p99", "ms", &CollapseFigures::ttft_p99_ms),
       plot_of(config, result, "Throughput of whole answers", "tokens/s", &CollapseFigures::tokens_per_s),
       plot_of(config, result, "Time to first token, p50", "ms", &CollapseFigures::ttft_p50_ms),
       plot_of(config, result, "Longest silence within an answer, p99", "ms", &CollapseFigures::gap_p99_ms)});
  for (const auto& [name, rows] : {std::pair{"Naive", &result.naive}, {"plan", &result.plan}}) {
    report.add_heading(name);
    HtmlTable table{.head = columns(), .rows = {}};
    for (const CollapseFigures& figures : *rows) table.rows.push_back(cells_of(figures));
    report.add_table(table);
  }
  report.add_heading("How this was made");
  report.add_code(command_line);
  return report.html();
}

}  // namespace sluice::bench
