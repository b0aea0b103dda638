#include "server/http_text.h"

#include <charconv>
#include <utility>

#include "server/answer_parts.h"
#include "server/grpc_answers.h"
#include "server/json_fields.h"

namespace sluice::server {
namespace {

/// The core's field `from` is the body's `to`.
Status renamed(const Status& status, std::string_view from, std::string_view to) {
  const bool is_named = status.field().substr(0, from.size()) == from;
  if (!is_named || status.message().substr(0, from.size()) != from) return status;
  return Status(status.code(), std::string(to) + status.message().substr(from.size()))
      .with_field(std::string(to) + status.field().substr(from.size()));
}

Status check_object(const Json& body) {
  if (body.is_object()) return {};
  return invalid_argument("the body must be a JSON object, not " + std::string(kind_of(body)));
}

void check_model(JsonFields& fields, const ServedModel& model) {
  const std::optional<std::string> name = fields.text("model");
  if (name && !name->empty() && *name != model.name)
    fields.fail(not_found("this model is not served here, \"" + model.name + "\" is").with_field("model"));
}

void read_tokens(JsonFields& fields, v1::DetokenizeRequest& request) {
  const Json* const tokens = fields.array("tokens");
  if (tokens == nullptr) return fields.fail("tokens", "must be set");
  for (size_t i = 0; i < tokens->size(); ++i) {
    const std::optional<int64_t> id = whole_number((*tokens)[i]);
    if (!id || *id != static_cast<int32_t>(*id))
      return fields.fail("tokens[" + std::to_string(i) + "]", "must be a token id");
    request.add_ids(static_cast<int32_t>(*id));
  }
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    decoded += is_escape ? static_cast<char>(value) : text[i];
    if (is_escape) i += 2;
  }
  return decoded;
}

}  // namespace

Result<Json> tokenize_json(const ServedModel& model, const Json& body) {
  SLUICE_RETURN_IF_ERROR(check_object(body));
  JsonFields fields(body);
  v1::TokenizeRequest request;
  auto prompt = fields.text("prompt");
  if (!prompt && fields.find("prompt") == nullptr) fields.fail("prompt", "must be set");
  request.set_text(std::move(prompt).value_or(""));
  request.set_add_bos(fields.boolean("add_special_tokens").value_or(true));
  request.set_parse_special(fields.boolean("parse_special").value_or(false));
  const bool with_texts = fields.boolean("return_token_strs").value_or(false);
  check_model(fields, model);
  SLUICE_RETURN_IF_ERROR(fields.status());
  v1::TokenizeResponse response;
  if (const Status status = tokenize(model, request, response); !status.ok()) return renamed(status, "text", "prompt");
  Json answer = {{"count", response.ids_size()}, {"max_model_len", model.context_length}, {"tokens", response.ids()}};
  if (with_texts) {
    answer["token_strs"] = Json::array();
    for (const int32_t id : response.ids()) answer["token_strs"].push_back(token_text(*model.tokenizer, id));
  }
  return answer;
}

Result<Json> detokenize_json(const ServedModel& model, const Json& body) {
  SLUICE_RETURN_IF_ERROR(check_object(body));
  JsonFields fields(body);
  v1::DetokenizeRequest request;
  read_tokens(fields, request);
  request.set_keep_special(fields.boolean("keep_special").value_or(false));
  check_model(fields, model);
  SLUICE_RETURN_IF_ERROR(fields.status());
  v1::DetokenizeResponse response;
  if (const Status status = detokenize(model, request, response); !status.ok()) return renamed(status, "ids", "tokens");
  return Json{{"prompt", response.text()}};
}

Json model_json(const ServedModel& model, int64_t created) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", created},
          {"owned_by", "sluice"},
          {"max_model_len", model.context_length}};
}

Json models_json(const ServedModel& model, int64_t created) {
  return {{"object", "list"}, {"data", Json::array({model_json(model, created)})}};
}

bool names_model(std::string_view encoded, const ServedModel& model) {
  return percent_decoded(encoded) == model.name;
}

}  // namespace sluice::server
