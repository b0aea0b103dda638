#include "server/completion_ask.h"

#include <array>
#include <string_view>
#include <utility>

#include "server/ask_options.h"

namespace sluice::server {
namespace {

constexpr std::array<std::string_view, 1> kUnserved = {"suffix"};

Status not_an_object(const Json& body) {
  return invalid_argument("the body must be a JSON object, not " + std::string(kind_of(body)));
}

void read_prompt_ids(JsonFields& fields, const Json& ids, v1::CompleteRequest& request) {
  v1::TokenIds& to = *request.mutable_token_ids();
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::optional<int64_t> id = whole_number(ids[i]);
    if (!id || *id != static_cast<int32_t>(*id))
      return fields.fail("prompt[" + std::to_string(i) + "]", "must be a token id, as the others");
    to.add_ids(static_cast<int32_t>(*id));
  }
}

/// A text, token ids, or an array that holds one of these.
void read_prompt(JsonFields& fields, v1::CompleteRequest& request) {
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) return;  // for the core to refuse
  const bool is_list = prompt->is_array() && !prompt->empty() && !prompt->front().is_number();
  if (is_list && prompt->size() > 1)
    return fields.fail("prompt", "may be one prompt; send one request for each of several");
  if (is_list) prompt = &prompt->front();
  if (prompt->is_string()) return request.set_text(prompt->get<std::string>());
  if (prompt->is_array()) return read_prompt_ids(fields, *prompt, request);
  fields.fail("prompt", "must be a string or an array of token ids, not " + std::string(kind_of(*prompt)));
}

void read_best_of(JsonFields& fields, const v1::CompleteRequest& request) {
  const auto best_of = fields.whole32("best_of");
  const int32_t n = request.has_n() ? request.n() : 1;
  if (best_of && *best_of != n) fields.fail("best_of", "must be n: all choices are told, none is thrown away");
}

struct Renaming {
  std::string_view core;  ///< a field, or the beginning of one
  std::string_view json;
};

constexpr std::array<Renaming, 5> kNames = {{{"prompt.token_ids.ids", "prompt"},
                                             {"prompt.text", "prompt"},
                                             {"sampling.", ""},
                                             {"stopping.", ""},
                                             {"response.", ""}}};
constexpr std::array<Renaming, 5> kChatNames = {{{"prompt.token_ids.ids", "messages"},
                                                 {"prompt.text", "messages"},
                                                 {"prompt", "messages"},
                                                 {"response.logprobs", "top_logprobs"},
                                                 {"stopping.max_tokens", "max_completion_tokens"}}};

std::optional<std::string> renamed(const std::string& field, const std::array<Renaming, 5>& names) {
  for (const auto& [core, json] : names) {
    if (std::string_view(field).substr(0, core.size()) == core) return std::string(json) + field.substr(core.size());
  }
  return std::nullopt;
}

}  // namespace

Result<CompletionAsk> parse_completion_ask(const Json& body) {
  if (!body.is_object()) return not_an_object(body);
  JsonFields fields(body);
  CompletionAsk ask;
  read_prompt(fields, ask.request);
  read_shared_options(fields, ask.request, ask.wish);
  if (const auto max = fields.whole32("max_tokens")) ask.request.mutable_stopping()->set_max_tokens(*max);
  if (const auto count = fields.whole32("logprobs")) ask.request.mutable_response()->set_logprobs(*count);
  if (const auto echo = fields.boolean("echo")) ask.request.mutable_response()->set_echo(*echo);
  read_best_of(fields, ask.request);
  refuse_forms(fields);
  refuse_unserved(fields, kUnserved);
  SLUICE_RETURN_IF_ERROR(fields.status());
  for (std::string& name : fields.unread()) ask.wish.ignored.push_back(std::move(name));
  return ask;
}

Status in_json_terms(const Status& status, AskKind kind) {
  std::optional<std::string> field;
  if (kind == AskKind::kChat) field = renamed(status.field(), kChatNames);
  if (!field) field = renamed(status.field(), kNames);
  if (!field || status.field().empty()) return status;
  std::string message = status.message();
  if (message.substr(0, status.field().size()) == status.field())
    message = *field + message.substr(status.field().size());
  return Status(status.code(), std::move(message)).with_field(*field).with_retry_after_ms(status.retry_after_ms());
}

}  // namespace sluice::server
