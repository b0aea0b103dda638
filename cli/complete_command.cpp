#include "cli/complete_command.h"

#include "base/signal_watcher.h"
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

/// Whoever reads JSON gets an object in any case; report_failure() tells everybody.
void print_refusal(const CompleteOptions& options, const Terminal& terminal, const Status& status) {
  if (options.json) terminal.out << refusal_to_json(status) << std::endl;
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

Status stream_answer(const CompleteOptions& options, const v1::CompleteRequest& request, const Terminal& terminal,
                     client::InferenceClient& daemon, client::Cancellation& cancellation, const Clock& clock) {
  // Waiting for the daemon to be ready is not waiting for the answer.
  client::StreamStopwatch stopwatch(clock, clock.now());
  client::AnswerBuilder builder;
  const auto on_event = [&](const v1::CompleteEvent& event) {
    stopwatch.observe(event);
    builder.observe(event);
    if (prints_as_it_comes(options)) print_event(terminal.out, event);
  };
  const Status status = daemon.stream_complete(request, on_event, call_options(options.connection, &cancellation));
  print_answer(options, terminal, builder.answer(), stopwatch.timing(), status);
  return status;
}

/// There is no request to send: what it was to be made of is wrong, or could not be read.
ExitCode report_unsent(const CompleteOptions& options, const Terminal& terminal, const Status& status) {
  if (status.code() == StatusCode::kInvalidArgument) return report_wrong_usage(terminal, status);
  print_refusal(options, terminal, status);
  return report_failure(terminal, status);
}

}  // namespace

ExitCode run_complete(const CompleteOptions& options, const Terminal& terminal, const Clock& clock) {
  // Before the signals are taken over, so that Ctrl-C still ends a wait for stdin.
  const Result<v1::CompleteRequest> request = to_request(options, terminal.in);
  if (!request.ok()) return report_unsent(options, terminal, request.status());

  client::Cancellation cancellation;
  const SignalWatcher watcher([&cancellation](int) { cancellation.cancel(); });
  const auto daemon = connect(options.connection);
  if (!daemon.ok()) return report_unsent(options, terminal, daemon.status());
  Status status = await_daemon(**daemon, options.connection, &cancellation);
  if (status.ok()) {
    status = stream_answer(options, *request, terminal, **daemon, cancellation, clock);
  } else {
    print_refusal(options, terminal, status);
  }
  if (status.ok()) return finish_output(terminal);
  const ExitCode failed = report_failure(terminal, status);
  return cancellation.cancelled() ? kInterrupted : failed;
}

}  // namespace sluice::cli
