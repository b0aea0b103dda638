#include "server/chat_prompt.h"

#include <string>
#include <utility>

#include "server/json_text.h"
#include "server/request_parser.h"

namespace sluice::server {
namespace {

constexpr size_t kArgumentsBytesMax = size_t{1} << 20;

/// As far as `bytes_left` goes.
void open_arguments(Json& call, size_t& bytes_left) {
  if (!call.contains("function")) return;
  const auto arguments = call["function"].find("arguments");
  if (arguments == call["function"].end() || !arguments->is_string()) return;
  const std::string& text = arguments->get_ref<const std::string&>();
  if (text.size() > bytes_left) return;
  bytes_left -= text.size();
  Result<Json> value = parse_json(text);
  if (value.ok() && value->is_object()) *arguments = std::move(value).value();
}

Json as_templates_want(Json messages) {
  size_t bytes_left = kArgumentsBytesMax;
  for (Json& message : messages) {
    // Beside tool calls; a template would fail on it or write "None".
    if (message["content"].is_null()) message["content"] = "";
    const auto calls = message.find("tool_calls");
    if (calls == message.end()) continue;
    for (Json& call : *calls) open_arguments(call, bytes_left);
  }
  return messages;
}

engine::ChatPrompt to_prompt(ChatPromptInput input, std::chrono::system_clock::time_point now) {
  engine::ChatPrompt prompt;
  prompt.messages_json = write_json(as_templates_want(std::move(input.messages)));
  if (!input.tools.is_null()) prompt.tools_json = write_json(input.tools);
  prompt.variables_json = write_json(input.template_kwargs);
  prompt.add_generation_prompt = input.add_generation_prompt;
  prompt.now = now;
  return prompt;
}

Status in_messages(Status status) {
  return status.field().empty() ? std::move(status).with_field("messages") : status;
}

Result<std::vector<int32_t>> encode(const std::vector<engine::TextRun>& runs, const ServedModel& model) {
  size_t bytes = 0;
  for (const engine::TextRun& run : runs) bytes += run.text.size();
  SLUICE_RETURN_IF_ERROR(check_text_can_fit("messages", bytes, model));
  return model.tokenizer->encode(runs);
}

}  // namespace

ChatPrompter make_chat_prompter(Result<engine::ChatTemplate> chat_template, const ServedModel& model,
                                std::function<std::chrono::system_clock::time_point()> wall_clock) {
  return [chat_template = std::move(chat_template), &model,
          wall_clock = std::move(wall_clock)](ChatPromptInput input) -> Result<std::vector<int32_t>> {
    if (!chat_template.ok())
      return failed_precondition("this model has no usable chat template: " + chat_template.status().message());
    const Result<std::vector<engine::TextRun>> runs = chat_template->render(to_prompt(std::move(input), wall_clock()));
    if (!runs.ok()) return in_messages(runs.status());
    Result<std::vector<int32_t>> ids = encode(*runs, model);
    if (!ids.ok()) return in_messages(ids.status());
    return ids;
  };
}

}  // namespace sluice::server
