#include "cli/chat_command.h"

#include <istream>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/signal_watcher.h"
#include "cli/answer_stream.h"
#include "cli/text_input.h"

namespace sluice::cli {
namespace {

void add_message(v1::ChatRequest& request, const char* role, std::string content) {
  v1::ChatMessage& message = *request.add_messages();
  message.set_role(role);
  message.set_content(std::move(content));
}

/// The request without the user's messages.
Result<v1::ChatRequest> begin(const ChatOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(v1::ChatRequest request, to_chat_request(options.answer));
  if (options.system) {
    SLUICE_RETURN_IF_ERROR(check_utf8(*options.system, "the --system text"));
    add_message(request, "system", *options.system);
  }
  return request;
}

/// A conversation with one daemon.
class Conversation {
 public:
  Conversation(const ChatOptions& options, const Terminal& terminal, const Clock& clock, v1::ChatRequest request)
      : options_(options), terminal_(terminal), clock_(clock), request_(std::move(request)) {}

  Status open() {
    SLUICE_ASSIGN_OR_RETURN(daemon_, connect(options_.answer.connection));
    return await_daemon(*daemon_, options_.answer.connection);
  }

  /// Says one thing, and keeps the answer. Ctrl-C ends the answer.
  Status say(std::string text) {
    SLUICE_RETURN_IF_ERROR(check_utf8(text, "the message"));
    add_message(request_, "user", std::move(text));
    client::Cancellation cancellation;
    const SignalWatcher watcher([&cancellation](int) { cancellation.cancel(); });
    const auto send = [&](const client::InferenceClient::OnEvent& on_event) {
      return daemon_->stream_chat(request_, on_event, call_options(options_.answer.connection, &cancellation));
    };
    const ShownAnswer shown = show_answer(options_.answer, send, terminal_, clock_);
    was_interrupted_ = cancellation.cancelled();
    if (shown.answer.choices_size() > 0) add_message(request_, "assistant", shown.answer.choices(0).text());
    return shown.status;
  }

  bool was_interrupted() const { return was_interrupted_; }

 private:
  const ChatOptions& options_;
  const Terminal& terminal_;
  const Clock& clock_;
  v1::ChatRequest request_;
  std::unique_ptr<client::InferenceClient> daemon_;
  bool was_interrupted_ = false;
};

Status say_each_line(Conversation& conversation, std::istream& in) {
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    SLUICE_RETURN_IF_ERROR(conversation.say(line));
  }
  return {};
}

}  // namespace

void add_chat_options(CLI::App& app, ChatOptions& options) {
  add_chat_answer_options(app, options.answer);
  app.add_option("--system", options.system, "What the conversation begins with; default: what the template says")
      ->type_name("TEXT");
}

ExitCode run_chat(const ChatOptions& options, const Terminal& terminal, const Clock& clock) {
  Result<v1::ChatRequest> request = begin(options);
  if (!request.ok()) return report_unsent(options.answer, terminal, request.status());
  Conversation conversation(options, terminal, clock, std::move(request).value());
  if (const Status opened = conversation.open(); !opened.ok()) return report_unsent(options.answer, terminal, opened);
  const std::string& message = options.answer.prompt;
  const Status status = message.empty() ? say_each_line(conversation, terminal.in) : conversation.say(message);
  if (status.ok()) return finish_output(terminal);
  const ExitCode failed = report_failure(terminal, status);
  return conversation.was_interrupted() ? kInterrupted : failed;
}

}  // namespace sluice::cli
