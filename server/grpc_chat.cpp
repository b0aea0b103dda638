#include "server/grpc_chat.h"

#include <string>
#include <utility>

#include "server/completion_ask.h"
#include "server/json_text.h"

namespace sluice::server {
namespace {

/// A member of the request that is JSON itself, and must be of one kind.
Result<Json> read_member(const std::string& field, const std::string& text, Json::value_t kind) {
  Result<Json> value = parse_json(text);
  if (!value.ok()) return invalid_field(field, "is not JSON: " + value.status().message());
  if (value->type() == kind) return value;
  return invalid_field(field, kind == Json::value_t::array ? "must be a JSON array" : "must be a JSON object");
}

Json to_json(const v1::ToolCall& call) {
  return {{"id", call.id()},
          {"type", "function"},
          {"function", {{"name", call.name()}, {"arguments", call.arguments_json()}}}};
}

Json to_json(const v1::ChatMessage& message) {
  Json json = {{"role", message.role()}, {"content", nullptr}};
  if (message.has_content()) json["content"] = message.content();
  for (const v1::ToolCall& call : message.tool_calls()) json["tool_calls"].push_back(to_json(call));
  if (message.has_name()) json["name"] = message.name();
  if (message.has_tool_call_id()) json["tool_call_id"] = message.tool_call_id();
  if (message.has_reasoning_content()) json["reasoning_content"] = message.reasoning_content();
  return json;
}

/// What HTTP's body would hold, so that one parser checks both.
Result<ChatPromptInput> to_input(const v1::ChatRequest& request) {
  Json body = {{"messages", Json::array()}};
  for (const v1::ChatMessage& message : request.messages()) body["messages"].push_back(to_json(message));
  if (request.has_tools_json()) {
    SLUICE_ASSIGN_OR_RETURN(body["tools"], read_member("tools_json", request.tools_json(), Json::value_t::array));
  }
  if (request.has_template_variables_json()) {
    SLUICE_ASSIGN_OR_RETURN(
        body["chat_template_kwargs"],
        read_member("template_variables_json", request.template_variables_json(), Json::value_t::object));
  }
  if (request.has_add_generation_prompt()) body["add_generation_prompt"] = request.add_generation_prompt();
  SLUICE_ASSIGN_OR_RETURN(ChatAsk ask, parse_chat_ask(body));
  return std::move(ask.prompt);
}

Status in_proto_terms(const Status& status) {
  constexpr std::string_view kName = "chat_template_kwargs";
  if (status.field() != kName || !status.message().starts_with(kName)) return status;
  return invalid_field("template_variables_json", status.message().substr(kName.size() + 1));
}

}  // namespace

Result<v1::CompleteRequest> to_complete_request(v1::ChatRequest request, const ChatPrompter& prompter) {
  SLUICE_ASSIGN_OR_RETURN(ChatPromptInput input, to_input(request));
  const Result<std::vector<int32_t>> ids = prompter(std::move(input));
  if (!ids.ok()) return in_proto_terms(ids.status());
  v1::CompleteRequest made;
  made.mutable_token_ids()->mutable_ids()->Add(ids->begin(), ids->end());
  if (request.has_model()) made.set_model(std::move(*request.mutable_model()));
  if (request.has_sampling()) *made.mutable_sampling() = std::move(*request.mutable_sampling());
  if (request.has_stopping()) *made.mutable_stopping() = std::move(*request.mutable_stopping());
  if (request.has_response()) *made.mutable_response() = std::move(*request.mutable_response());
  if (request.has_n()) made.set_n(request.n());
  if (request.has_priority()) made.set_priority(request.priority());
  if (request.has_cache_salt()) made.set_cache_salt(std::move(*request.mutable_cache_salt()));
  return made;
}

}  // namespace sluice::server
