#pragma once

#include <functional>

#include "base/clock.h"
#include "base/status.h"
#include "cli/complete_options.h"
#include "cli/terminal.h"
#include "client/inference_client.h"

namespace sluice::cli {

/// An answer and how it ended; what came before a failure is in it.
struct ShownAnswer {
  v1::CompleteResponse answer;
  Status status;
};

/// Sends a request whose events go to what it is given.
using SendRequest = std::function<Status(const client::InferenceClient::OnEvent&)>;

/// Prints an answer as `options` say, while it comes where that can be done.
ShownAnswer show_answer(const CompleteOptions& options, const SendRequest& send, const Terminal& terminal,
                        const Clock& clock);

/// Whoever reads JSON gets an object in any case; report_failure() tells everybody.
void print_refusal(const CompleteOptions& options, const Terminal& terminal, const Status& status);

/// There is no request to send: what it was to be made of is wrong, or could not be read.
ExitCode report_unsent(const CompleteOptions& options, const Terminal& terminal, const Status& status);

}  // namespace sluice::cli
