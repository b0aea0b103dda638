#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "server/ask_options.h"
#include "server/completion_ask.h"

namespace sluice::server {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};
constexpr std::array<std::string_view, 4> kUnserved = {"functions", "function_call", "audio", "web_search_options"};

/// The text of a content's parts, joined without anything between them.
std::string read_parts(JsonFields& message, const Json& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name = "content[" + std::to_string(i) + "]";
    if (!parts[i].is_object()) {
      message.fail(name, "must be an object, not " + std::string(kind_of(parts[i])));
      return text;
    }
    JsonFields part(parts[i], message.path_of(name));
    const std::optional<std::string> type = part.text("type");
    if (type != "text") part.fail("type", "must be \"text\": images, sound and files are not served");
    const std::optional<std::string> piece = part.text("text");
    if (!piece) part.fail("text", "must be set");
    message.fail(part.status());
    text += piece.value_or("");
  }
  return text;
}

void read_content(JsonFields& message, bool may_be_absent, Json& to) {
  const Json* const content = message.find("content");
  to["content"] = nullptr;
  if (content == nullptr) {
    if (!may_be_absent) message.fail("content", "must be set, but beside tool_calls");
  } else if (content->is_string()) {
    to["content"] = *content;
  } else if (content->is_array()) {
    to["content"] = read_parts(message, *content);
  } else {
    message.fail("content", "must be a string or an array of text parts, not " + std::string(kind_of(*content)));
  }
}

/// `{"type": "function", "function": {"name": …}}`, the shape of tools and of calls to them.
void check_function(const Json& value, const std::string& path, JsonFields& owner) {
  if (!value.is_object()) return owner.fail(invalid_field(path, "must be an object"));
  JsonFields fields(value, path);
  if (const auto type = fields.text("type"); type && *type != "function") fields.fail("type", "must be \"function\"");
  const Json* const function = fields.object("function");
  if (function == nullptr) {
    fields.fail("function", "must be set");
  } else {
    JsonFields members(*function, path + ".function");
    if (members.text("name").value_or("").empty()) members.fail("name", "must be a function's name");
    static_cast<void>(members.text("description"));
    fields.fail(members.status());
  }
  owner.fail(fields.status());
}

bool read_tool_calls(JsonFields& message, Json& to) {
  const Json* const calls = message.array("tool_calls");
  if (calls == nullptr || calls->empty()) return false;
  for (size_t i = 0; i < calls->size(); ++i)
    check_function((*calls)[i], message.path_of("tool_calls[" + std::to_string(i) + "]"), message);
  to["tool_calls"] = *calls;
  return true;
}

Json read_message(JsonFields& fields, const Json& value, size_t index) {
  const std::string path = "messages[" + std::to_string(index) + "]";
  Json to = Json::object();
  if (!value.is_object()) {
    fields.fail(path, "must be an object, not " + std::string(kind_of(value)));
    return to;
  }
  JsonFields message(value, path);
  const std::string role = message.text("role").value_or("");
  if (std::ranges::find(kRoles, role) == kRoles.end())
    message.fail("role", "must be system, developer, user, assistant or tool");
  to["role"] = role;
  const bool has_calls = read_tool_calls(message, to);
  if (has_calls && role != "assistant") message.fail("tool_calls", "may be in an assistant's message only");
  read_content(message, has_calls, to);
  for (const std::string_view name : {"name", "tool_call_id", "reasoning_content"}) {
    if (auto text = message.text(name)) to[std::string(name)] = *std::move(text);
  }
  fields.fail(message.status());
  return to;
}

void read_messages(JsonFields& fields, ChatPromptInput& prompt) {
  const Json* const messages = fields.array("messages");
  if (messages == nullptr || messages->empty()) return fields.fail("messages", "must hold at least one message");
  for (size_t i = 0; i < messages->size() && fields.status().ok(); ++i)
    prompt.messages.push_back(read_message(fields, (*messages)[i], i));
}

void read_tools(JsonFields& fields, ChatPromptInput& prompt) {
  const Json* const tools = fields.array("tools");
  const Json* const choice = fields.find("tool_choice");
  const bool is_known = choice == nullptr || *choice == "auto" || *choice == "none";
  if (!is_known) fields.fail("tool_choice", "must be \"auto\" or \"none\": a call can't be forced here");
  for (size_t i = 0; tools != nullptr && i < tools->size(); ++i)
    check_function((*tools)[i], "tools[" + std::to_string(i) + "]", fields);
  const bool may_use = tools != nullptr && !tools->empty() && (choice == nullptr || *choice != "none");
  if (may_use) prompt.tools = *tools;
}

void read_logprobs(JsonFields& fields, v1::CompleteRequest& request) {
  const bool is_wanted = fields.boolean("logprobs").value_or(false);
  const auto count = fields.whole32("top_logprobs");
  if (is_wanted) request.mutable_response()->set_logprobs(count.value_or(0));
  if (!is_wanted && count.value_or(0) != 0) fields.fail("top_logprobs", "needs logprobs to be true");
}

void read_max_tokens(JsonFields& fields, v1::CompleteRequest& request) {
  const auto newer = fields.whole32("max_completion_tokens");
  const auto older = fields.whole32("max_tokens");
  if (newer && older && *newer != *older)
    fields.fail("max_tokens", "must be max_completion_tokens when both are given");
  if (newer || older) request.mutable_stopping()->set_max_tokens(newer ? *newer : *older);
}

}  // namespace

Result<ChatAsk> parse_chat_ask(const Json& body) {
  if (!body.is_object()) return invalid_argument("the body must be a JSON object, not " + std::string(kind_of(body)));
  JsonFields fields(body);
  ChatAsk ask;
  read_messages(fields, ask.prompt);
  read_shared_options(fields, ask.request, ask.wish);
  read_max_tokens(fields, ask.request);
  read_logprobs(fields, ask.request);
  read_tools(fields, ask.prompt);
  refuse_forms(fields);
  refuse_unserved(fields, kUnserved);
  if (const Json* const kwargs = fields.object("chat_template_kwargs")) ask.prompt.template_kwargs = *kwargs;
  ask.prompt.add_generation_prompt = fields.boolean("add_generation_prompt").value_or(true);
  SLUICE_RETURN_IF_ERROR(fields.status());
  for (std::string& name : fields.unread()) ask.wish.ignored.push_back(std::move(name));
  return ask;
}

}  // namespace sluice::server
