#include "bench/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

using Json = nlohmann::json;

constexpr int32_t kTokensMax = 1 << 20;
constexpr double kSecondsMax = 4e9;  // two of them differ by less than 64 bits of nanoseconds hold

Status bad(std::string_view field, const std::string& problem) {
  return invalid_argument(std::string(field) + " " + problem);
}

Result<double> number(const Json& line, const char* field, double low, double high) {
  const auto found = line.find(field);
  if (found == line.end() || !found->is_number()) return bad(field, "must be a number");
  const auto value = found->get<double>();
  if (std::isfinite(value) && value >= low && value <= high) return value;
  std::ostringstream text;
  text << "must be from " << low << " to " << high;
  return bad(field, text.str());
}

Result<int32_t> count(const Json& line, const char* field, int32_t low, int32_t high) {
  SLUICE_ASSIGN_OR_RETURN(const double value, number(line, field, low, high));
  if (value == std::floor(value)) return static_cast<int32_t>(value);
  return bad(field, "must be a whole number");
}

struct TracedLine {
  double arrival = 0;  // seconds of the calendar
  simulation::TracedArrival request;
  bool is_valid = true;  // else it asked for nothing the daemon could do
};

Result<TracedLine> read_request(const Json& line) {
  TracedLine traced;
  simulation::TracedArrival& request = traced.request;
  SLUICE_ASSIGN_OR_RETURN(traced.arrival, number(line, "arrival", -kSecondsMax, kSecondsMax));
  SLUICE_ASSIGN_OR_RETURN(request.prompt_tokens, count(line, "prompt_tokens", 1, kTokensMax));
  SLUICE_ASSIGN_OR_RETURN(request.shared_tokens, count(line, "cached_tokens", 0, request.prompt_tokens));
  SLUICE_ASSIGN_OR_RETURN(request.max_tokens, count(line, "max_tokens", 0, kTokensMax));
  SLUICE_ASSIGN_OR_RETURN(request.sequence_count, count(line, "n", 1, 64));
  SLUICE_ASSIGN_OR_RETURN(request.priority, count(line, "priority", -100, 100));
  SLUICE_ASSIGN_OR_RETURN(const int32_t completion, count(line, "completion_tokens", 0, 64 * kTokensMax));
  if (line.contains("tenant") && !line["tenant"].is_string()) return bad("tenant", "must be a text");
  request.tenant = line.value("tenant", "");
  if (line.contains("outcome") && !line["outcome"].is_string()) return bad("outcome", "must be a text");
  const std::string outcome = line.value("outcome", "stop");
  if (line.contains("deadline_ms")) {
    SLUICE_ASSIGN_OR_RETURN(const double deadline_ms, number(line, "deadline_ms", 0, 1e12));
    request.deadline = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(deadline_ms));
  }
  traced.is_valid = outcome != "invalid" && request.max_tokens > 0;
  // What a refused one would have drawn nobody knows.
  const int32_t drawn =
      outcome == "refused" ? request.max_tokens : (completion + request.sequence_count - 1) / request.sequence_count;
  request.output_tokens = std::clamp(drawn, 1, std::max(1, request.max_tokens));
  return traced;
}

Status read_prices(const Json& line, scheduler::StepPrices& prices) {
  if (!line.contains("step_ms")) return {};
  const Json& step = line["step_ms"];
  if (!step.is_object()) return bad("step_ms", "must be an object");
  scheduler::StepPrices read;
  const auto price = [&step](const char* field) { return number(step, field, 0, scheduler::StepPrices::kMax); };
  SLUICE_ASSIGN_OR_RETURN(read.fixed_ms, price("fixed"));
  SLUICE_ASSIGN_OR_RETURN(read.prefill_token_ms, price("prefill_token"));
  SLUICE_ASSIGN_OR_RETURN(read.decode_row_ms, price("decode_row"));
  SLUICE_ASSIGN_OR_RETURN(read.context_token_ms, price("context_token"));
  SLUICE_ASSIGN_OR_RETURN(read.prefill_pair_ms, price("prefill_pair"));
  // Until the daemon has learnt something, all are zero.
  if (read.milliseconds({.prefill_tokens = 1, .decode_rows = 1, .context_tokens = 1, .prefill_pairs = 1}) > 0)
    prices = read;
  return {};
}

Status add_line(const std::string& text, std::vector<TracedLine>& lines, scheduler::StepPrices& prices) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return invalid_argument("is not a JSON object");
  SLUICE_ASSIGN_OR_RETURN(TracedLine traced, read_request(line));
  SLUICE_RETURN_IF_ERROR(read_prices(line, prices));
  if (traced.is_valid) lines.push_back(std::move(traced));
  return {};
}

}  // namespace

Result<Trace> parse_trace(const std::string& text, const std::string& name) {
  std::vector<TracedLine> lines;
  Trace trace;
  std::istringstream in(text);
  std::string line;
  for (int64_t line_number = 1; std::getline(in, line); ++line_number) {
    if (line.empty()) continue;
    if (const Status status = add_line(line, lines, trace.prices); !status.ok()) {
      return invalid_argument(name + ":" + std::to_string(line_number) + ": " + status.message());
    }
  }
  if (lines.empty()) return invalid_argument(name + ": holds no request");
  std::stable_sort(lines.begin(), lines.end(),
                   [](const TracedLine& a, const TracedLine& b) { return a.arrival < b.arrival; });
  for (TracedLine& traced : lines) {
    traced.request.at =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(traced.arrival - lines.front().arrival));
    trace.arrivals.push_back(std::move(traced.request));
  }
  return trace;
}

Result<Trace> read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(path + ": can't open this trace: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return invalid_argument(path + ": can't read this trace");
  return parse_trace(text.str(), path);
}

}  // namespace sluice::bench
