#include "cli/answer_stream.h"

#include "cli/answer_json.h"
#include "cli/answer_printer.h"
#include "client/answer_builder.h"
#include "client/stream_stopwatch.h"

namespace sluice::cli {
namespace {

/// Several choices come mixed; only one can be printed while it comes.
bool prints_as_it_comes(const CompleteOptions& options) {
  return !options.json && options.n.value_or(1) <= 1;
}

void print_answer(const CompleteOptions& options, const Terminal& terminal, const v1::CompleteResponse& answer,
                  const client::StreamTiming& timing, const Status& status) {
  const bool was_accepted = answer.has_prompt_info();
  if (!was_accepted && !status.ok()) return print_refusal(options, terminal, status);
  if (options.json) {
    terminal.out << answer_to_json(answer, timing, status) << std::endl;
    return;
  }
  if (!prints_as_it_comes(options)) print_choices(terminal.out, answer);
  print_summary(terminal.err, answer, timing);
}

}  // namespace

ShownAnswer show_answer(const CompleteOptions& options, const SendRequest& send, const Terminal& terminal,
                        const Clock& clock) {
  // Waiting for the daemon to be ready is not waiting for the answer.
  client::StreamStopwatch stopwatch(clock, clock.now());
  client::AnswerBuilder builder;
  const auto on_event = [&](const v1::CompleteEvent& event) {
    stopwatch.observe(event);
    builder.observe(event);
    if (prints_as_it_comes(options)) print_event(terminal.out, event);
  };
  const Status status = send(on_event);
  print_answer(options, terminal, builder.answer(), stopwatch.timing(), status);
  return {builder.answer(), status};
}

void print_refusal(const CompleteOptions& options, const Terminal& terminal, const Status& status) {
  if (options.json) terminal.out << refusal_to_json(status) << std::endl;
}

ExitCode report_unsent(const CompleteOptions& options, const Terminal& terminal, const Status& status) {
  if (status.code() == StatusCode::kInvalidArgument) return report_wrong_usage(terminal, status);
  print_refusal(options, terminal, status);
  return report_failure(terminal, status);
}

}  // namespace sluice::cli
