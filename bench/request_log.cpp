#include "bench/request_log.h"

#include <algorithm>

namespace sluice::bench {
namespace {

/// RFC 4180: in quotes, with each quote doubled.
std::string csv_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void write_time(std::ostream& out, const std::optional<Duration>& time) {
  if (time) out << to_milliseconds(*time);
  out << ',';
}

void write_answer(std::ostream& out, const AnswerTiming& timing) {
  const auto longest = std::max_element(timing.gaps.begin(), timing.gaps.end());
  write_time(out, timing.ttft);
  write_time(out, timing.tpot);
  write_time(out, longest == timing.gaps.end() ? std::nullopt : std::optional(*longest));
  write_time(out, timing.end_to_end);
  out << timing.prompt_tokens << ',' << timing.completion_tokens << ',' << (timing.has_usage ? "usage" : "pieces")
      << ',';
}

}  // namespace

Status RequestLog::open(const std::string& path, const Slo& slo) {
  path_ = path;
  slo_ = slo;
  if (path.empty()) return {};
  file_.open(path);
  file_.precision(9);
  file_
      << "conversation,turn,due_s,slip_ms,ttft_ms,tpot_ms,itl_max_ms,e2e_ms,prompt_tokens,output_tokens,counted_by,slo,"
         "error,message\n";
  return file_.good() ? Status() : failed_precondition("cannot write --csv file " + path);
}

void RequestLog::add(const RequestOutcome& outcome) {
  if (path_.empty()) return;
  file_ << outcome.conversation << ',' << outcome.turn << ',' << to_seconds(outcome.due - start_) << ','
        << to_milliseconds(outcome.slip) << ',';
  if (outcome.failure) {
    file_ << ",,,,,,,";
  } else {
    write_answer(file_, outcome.timing);
  }
  const bool is_met = !outcome.failure && slo_.is_met_by(outcome.timing);
  file_ << (slo_.is_empty() ? "" : is_met ? "met" : "missed") << ',';
  if (outcome.failure) file_ << outcome.failure->kind << ',' << csv_text(outcome.failure->status.message());
  if (!outcome.failure) file_ << ',';
  file_ << '\n';
}

Status RequestLog::close() {
  if (path_.empty()) return {};
  file_.flush();
  return file_.good() ? Status() : unavailable("writing " + path_ + " failed");
}

}  // namespace sluice::bench
