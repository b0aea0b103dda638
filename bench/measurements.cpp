#include "bench/measurements.h"

namespace sluice::bench {

void Measurements::add(const RequestOutcome& outcome) {
  ++report_.requests;
  slip_ms_.push_back(to_milliseconds(outcome.slip));
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
  if (output_tokens_asked_ && timing.completion_tokens != *output_tokens_asked_) ++report_.short_answers;
  if (timing.ttft) ttft_ms_.push_back(to_milliseconds(*timing.ttft));
  if (timing.tpot) tpot_ms_.push_back(to_milliseconds(*timing.tpot));
  for (const Duration gap : timing.gaps) itl_ms_.push_back(to_milliseconds(gap));
  e2e_ms_.push_back(to_milliseconds(timing.end_to_end));
}

void Measurements::add_error(const RequestOutcome& outcome) {
  ++report_.errors;
  error_ms_.push_back(to_milliseconds(outcome.took));
  ErrorCount& error = report_.errors_by_code[outcome.failure->kind];
  if (error.count++ == 0) error.example = outcome.failure->status.message();
}

Report Measurements::report(Duration duration) const {
  Report report = report_;
  report.duration_s = to_seconds(duration);
  report.ttft_ms = summarize(ttft_ms_);
  report.tpot_ms = summarize(tpot_ms_);
  report.itl_ms = summarize(itl_ms_);
  report.e2e_ms = summarize(e2e_ms_);
  report.slip_ms = summarize(slip_ms_);
  report.error_ms = summarize(error_ms_);
  return report;
}

}  // namespace sluice::bench
