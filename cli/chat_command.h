#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/complete_options.h"
#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// The command line of `sluice chat`.
struct ChatOptions {
  CompleteOptions answer;  ///< its prompt is the message; without one, each line of stdin is the next
  std::optional<std::string> system;
};

void add_chat_options(CLI::App& app, ChatOptions& options);

/// Sends the message, or a conversation's one after the other, each with those before and their answers.
ExitCode run_chat(const ChatOptions& options, const Terminal& terminal, const Clock& clock);

}  // namespace sluice::cli
