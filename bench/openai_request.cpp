#include "bench/openai_request.h"

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

Json messages_of(const Ask& ask) {
  if (const auto* const text = std::get_if<Ask::Text>(&ask.prompt)) {
    return Json::array({{{"role", "user"}, {"content", *text}}});
  }
  const auto* const chat = std::get_if<Ask::Chat>(&ask.prompt);
  SLUICE_CHECK(chat != nullptr);
  Json messages = Json::array();
  for (const ChatMessage& message : *chat) messages.push_back({{"role", message.role}, {"content", message.content}});
  return messages;
}

Json prompt_of(const Ask& ask) {
  if (const auto* const ids = std::get_if<Ask::Tokens>(&ask.prompt)) return *ids;
  if (const auto* const text = std::get_if<Ask::Text>(&ask.prompt)) return *text;
  std::string text;
  for (const ChatMessage& message : std::get<Ask::Chat>(ask.prompt)) text += message.content;
  return text;
}

}  // namespace

std::string_view endpoint_path(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "/chat/completions" : "/completions";
}

std::string openai_request(const Ask& ask, Endpoint endpoint, const std::string& model) {
  Json body{{"model", model}};
  if (endpoint == Endpoint::kChat) {
    body["messages"] = messages_of(ask);
  } else {
    body["prompt"] = prompt_of(ask);
  }
  body["max_tokens"] = ask.output_tokens;
  body["temperature"] = ask.temperature;
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  if (ask.ignores_end_tokens) body["ignore_eos"] = true;
  if (!ask.stop_token_ids.empty()) body["stop_token_ids"] = ask.stop_token_ids;
  // A dataset's text may be anything.
  return body.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace sluice::bench
