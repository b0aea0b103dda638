#include "server/chat_prompt.h"

#include <string>
#include <utility>

#include "server/json_text.h"

namespace sluice::server {
namespace {

void open_arguments(Json& call) {
  if (!call.contains("function")) return;
  const auto arguments = call["function"].find("arguments");
  if (arguments == call["function"].end() || !arguments->is_string()) return;
  Result<Json> value = parse_json(arguments->get_ref<const std::string&>());
  if (value.ok() && value->is_object()) *arguments = std::move(value).value();
}

Json as_templates_want(Json messages) {
  for (Json& message : messages) {
    // Beside tool calls; a template would fail on it or write "None".
    if (message["content"].is_null()) message["content"] = "";
    const auto calls = message.find("tool_calls");
    if (calls == message.end()) continue;
    for (Json& call : *calls) open_arguments(call);
  }
  return messages;
}

engine::ChatPrompt to_prompt(const ChatPromptInput& input, std::chrono::system_clock::time_point now) {
  engine::ChatPrompt prompt;
  prompt.messages_json = write_json(as_templates_want(input.messages));
  if (!input.tools.is_null()) prompt.tools_json = write_json(input.tools);
  prompt.variables_json = write_json(input.template_kwargs);
  prompt.add_generation_prompt = input.add_generation_prompt;
  prompt.now = now;
  return prompt;
}

Status in_messages(const Status& status) {
  Status named = status;
  return std::move(named).with_field("messages");
}

}  // namespace

ChatPrompter make_chat_prompter(Result<engine::ChatTemplate> chat_template, const engine::Tokenizer& tokenizer,
                                std::function<std::chrono::system_clock::time_point()> wall_clock) {
  return [chat_template = std::move(chat_template), &tokenizer,
          wall_clock = std::move(wall_clock)](const ChatPromptInput& input) -> Result<std::vector<int32_t>> {
    if (!chat_template.ok()) return failed_precondition(chat_template.status().message());
    const Result<std::vector<engine::TextRun>> runs = chat_template->render(to_prompt(input, wall_clock()));
    if (!runs.ok()) return in_messages(runs.status());
    Result<std::vector<int32_t>> ids = tokenizer.encode(*runs);
    if (!ids.ok()) return in_messages(ids.status());
    return ids;
  };
}

}  // namespace sluice::server
