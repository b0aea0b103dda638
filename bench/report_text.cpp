#include <iomanip>
#include <sstream>

#include "bench/report_output.h"

namespace sluice::bench {
namespace {

constexpr int kLabelWidth = 12;
constexpr int kColumnWidth = 11;

std::ostream& label(std::ostream& out, const std::string& text) {
  return out << std::left << std::setw(kLabelWidth) << text << std::right;
}

void print_row(std::ostream& out, const char* name, const Summary& summary) {
  label(out, name);
  for (const double value : {summary.p50, summary.p90, summary.p99, summary.max, summary.mean}) {
    out << std::setw(kColumnWidth);
    if (summary.count == 0) {
      out << '-';
    } else {
      out << value;
    }
  }
  out << '\n';
}

void print_errors(std::ostream& out, const Report& report) {
  for (const auto& [code, error] : report.errors_by_code) {
    out << "  " << error.count << ' ' << code << ", e.g. " << error.example << '\n';
  }
  if (report.interrupted > 0) out << "  " << report.interrupted << " cut off by the interrupt, not counted\n";
  if (report.short_answers > 0) out << "  " << report.short_answers << " answers shorter than asked for\n";
  if (report.uncounted_answers > 0) {
    out << "  " << report.uncounted_answers << " answers without usage: pieces of text were counted as tokens\n";
  }
}

void print_latencies(std::ostream& out, const RunConfig& load, const Report& report) {
  label(out, "ms");
  for (const char* const column : {"p50", "p90", "p99", "max", "mean"}) out << std::setw(kColumnWidth) << column;
  out << '\n';
  print_row(out, "TTFT", report.ttft_ms);
  print_row(out, "TPOT", report.tpot_ms);
  print_row(out, "ITL", report.itl_ms);
  print_row(out, "end to end", report.e2e_ms);
  if (!load.is_closed()) print_row(out, "sent late", report.slip_ms);
  if (report.errors > 0) print_row(out, "errors", report.error_ms);
}

void print_goodput(std::ostream& out, const RunConfig& load, const Report& report) {
  if (!report.goodput) return;
  const Goodput& goodput = *report.goodput;
  label(out, "\ngoodput ") << 100 * goodput.share << " % of the requests kept " << load.slo.text() << ": "
                           << goodput.requests_per_second << " requests/s, " << goodput.output_tokens_per_second
                           << " tokens/s\n";
  const std::optional<bool> passes = verdict(load, report);
  label(out, "verdict");
  if (passes) {
    out << (*passes ? "pass" : "fail") << ", as " << 100 * load.slo_share << " % must\n";
  } else {
    out << "none\n";
  }
}

void print_server(std::ostream& out, const ServerView& server) {
  label(out, "\nms") << std::setw(kColumnWidth) << "client" << std::setw(kColumnWidth) << "server\n";
  for (const Comparison& comparison : server.comparisons) {
    label(out, comparison.name) << std::setw(kColumnWidth) << comparison.client_ms << std::setw(kColumnWidth)
                                << comparison.server_ms;
    if (!comparison.agrees()) out << "  they disagree by more than " << comparison.tolerance_ms << " ms";
    out << '\n';
  }
  if (!server.problem.empty()) out << "no comparison with the server: " << server.problem << '\n';
}

std::string describe_prompts(const RunConfig& load) {
  if (load.trace) return "lengths of the trace";
  const std::string output = load.output_tokens ? load.output_tokens->text() : std::to_string(RunConfig::kOutputTokens);
  if (load.dataset_path.empty()) return "prompt " + load.prompt_tokens.text() + ", output " + output + " tokens";
  return "prompts of " + load.dataset_path + ", output " + (load.output_tokens ? output + " tokens" : "as theirs");
}

std::string describe_open_loop(const RunConfig& load) {
  std::ostringstream text;
  if (load.rate) text << *load.rate << " requests/s";
  if (load.ramp) text << load.ramp->begin << " to " << load.ramp->end << " requests/s";
  for (const RateProfile::Piece& step : load.steps) {
    text << (text.tellp() > 0 ? ", " : "") << step.begin << " requests/s for " << step.seconds << " s";
  }
  if (load.has_constant_gaps) {
    text << " (evenly spaced)";
  } else if (load.burstiness) {
    text << " (gamma, burstiness " << *load.burstiness << ')';
  } else {
    text << " (Poisson)";
  }
  return text.str();
}

}  // namespace

std::optional<bool> verdict(const RunConfig& load, const Report& report) {
  if (!report.goodput || !report.client.limited_because.empty() || report.requests == 0) return std::nullopt;
  return report.goodput->share >= load.slo_share;
}

std::string describe_loop(const RunConfig& load) {
  if (load.concurrency) return "closed loop, " + std::to_string(*load.concurrency) + " in flight";
  if (load.trace) return "open loop, the trace's " + std::to_string(load.trace->size()) + " arrivals";
  return "open loop, " + describe_open_loop(load);
}

void print_report(std::ostream& out, const Told& told) {
  const Report& report = told.report;
  const std::ios::fmtflags flags = out.flags();
  const std::streamsize precision = out.precision();
  out << told.model.name << (told.model.device.empty() ? "" : " on ") << told.model.device << "; "
      << describe_loop(told.load) << "; " << describe_prompts(told.load) << "; seed " << told.load.seed << "\n\n";
  out << std::fixed << std::setprecision(2);
  label(out, "requests") << report.requests << ", of them " << report.errors << " errors\n";
  print_errors(out, report);
  label(out, "duration") << report.duration_s << " s\n";
  label(out, "output") << report.output_tokens_per_second() << " tokens/s (" << report.total_tokens_per_second()
                       << " with the prompts)\n\n";
  print_latencies(out, told.load, report);
  print_goodput(out, told.load, report);
  if (!report.client.limited_because.empty()) {
    out << "\nThe client was the limit, so these are not the server's figures: " << report.client.limited_because
        << ".\n";
  }
  if (told.server) print_server(out, *told.server);
  out.flags(flags);
  out.precision(precision);
  out.flush();
}

}  // namespace sluice::bench
