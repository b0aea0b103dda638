#include "bench/measurements.h"

namespace sluice::bench {

void Measurements::add(const RequestOutcome& outcome) {
  ++report_.requests;
  slip_.add(outcome.slip);
  if (outcome.failure) {
    add_error(outcome);
  } else {
    add_answer(outcome);
  }
}

void Measurements::add_answer(const RequestOutcome& outcome) {
  const AnswerTiming& timing = outcome.timing;
  report_.prompt_tokens += timing.prompt_tokens;
  report_.output_tokens += timing.completion_tokens;
  if (outcome.output_tokens_asked && timing.completion_tokens != *outcome.output_tokens_asked) ++report_.short_answers;
  if (!timing.has_usage) ++report_.uncounted_answers;
  if (timing.ttft) {
    report_.ttft.add(*timing.ttft);
    report_.ttft_from_send.add(*timing.ttft - outcome.slip);
  }
  if (timing.tpot) report_.tpot.add(*timing.tpot);
  for (const Duration gap : timing.gaps) report_.itl.add(gap);
  report_.e2e.add(timing.end_to_end);
  if (slo_.is_empty() || !slo_.is_met_by(timing)) return;
  ++met_;
  met_tokens_ += timing.completion_tokens;
}

void Measurements::add_error(const RequestOutcome& outcome) {
  ++report_.errors;
  error_.add(outcome.took);
  ErrorCount& error = report_.errors_by_code[outcome.failure->kind];
  if (error.count++ == 0) error.example = outcome.failure->status.message();
}

Report Measurements::report(Duration duration) const {
  Report report = report_;
  report.duration_s = to_seconds(duration);
  report.ttft_ms = summarize(report.ttft);
  report.tpot_ms = summarize(report.tpot);
  report.itl_ms = summarize(report.itl);
  report.e2e_ms = summarize(report.e2e);
  report.slip_ms = summarize(slip_);
  report.error_ms = summarize(error_);
  report.client.slip_p99_ms = report.slip_ms.p99;
  if (slo_.is_empty()) return report;
  const auto per_second = [&report](int64_t count) {
    return report.duration_s > 0 ? static_cast<double>(count) / report.duration_s : 0;
  };
  report.goodput =
      Goodput{.met = met_,
              .share = report.requests > 0 ? static_cast<double>(met_) / static_cast<double>(report.requests) : 0,
              .requests_per_second = per_second(met_),
              .output_tokens_per_second = per_second(met_tokens_)};
  return report;
}

}  // namespace sluice::bench
