#include "cli/complete_command.h"

#include "base/signal_watcher.h"
#include "cli/answer_stream.h"

namespace sluice::cli {

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
    const auto send = [&](const client::InferenceClient::OnEvent& on_event) {
      return (*daemon)->stream_complete(*request, on_event, call_options(options.connection, &cancellation));
    };
    status = show_answer(options, send, terminal, clock).status;
  } else {
    print_refusal(options, terminal, status);
  }
  if (status.ok()) return finish_output(terminal);
  const ExitCode failed = report_failure(terminal, status);
  return cancellation.cancelled() ? kInterrupted : failed;
}

}  // namespace sluice::cli
