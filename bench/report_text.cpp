#include <iomanip>
#include <sstream>

#include "bench/report_output.h"

namespace sluice::bench {
namespace {

constexpr int kLabelWidth = 12;
constexpr int kColumnWidth = 11;

std::string describe_prompt(const TokenRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  return std::to_string(range.min) + ".." + std::to_string(range.max);
}

std::string describe_loop(const RunConfig& config) {
  std::ostringstream text;
  if (config.concurrency) text << "closed loop, " << *config.concurrency << " in flight";
  if (config.rate) text << "open loop, " << *config.rate << " requests/s (Poisson)";
  return text.str();
}

std::ostream& label(std::ostream& out, const char* text) {
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
}

void print_latencies(std::ostream& out, const RunConfig& config, const Report& report) {
  label(out, "ms");
  for (const char* const column : {"p50", "p90", "p99", "max", "mean"}) out << std::setw(kColumnWidth) << column;
  out << '\n';
  print_row(out, "TTFT", report.ttft_ms);
  print_row(out, "TPOT", report.tpot_ms);
  print_row(out, "ITL", report.itl_ms);
  print_row(out, "end to end", report.e2e_ms);
  if (config.rate) print_row(out, "sent late", report.slip_ms);
  if (report.errors > 0) print_row(out, "errors", report.error_ms);
}

}  // namespace

void print_report(std::ostream& out, const RunConfig& config, const ServedModel& model, const Report& report) {
  const std::ios::fmtflags flags = out.flags();
  const std::streamsize precision = out.precision();
  out << model.name << " on " << model.device << "; " << describe_loop(config) << "; prompt "
      << describe_prompt(config.prompt_tokens) << ", output " << config.output_tokens << " tokens; seed " << config.seed
      << "\n\n";
  out << std::fixed << std::setprecision(2);
  label(out, "requests") << report.requests << ", of them " << report.errors << " errors\n";
  print_errors(out, report);
  label(out, "duration") << report.duration_s << " s\n";
  label(out, "output") << report.output_tokens_per_second() << " tokens/s (" << report.total_tokens_per_second()
                       << " with the prompts)\n\n";
  print_latencies(out, config, report);
  out.flags(flags);
  out.precision(precision);
  out.flush();
}

}  // namespace sluice::bench
