#include "cli/answer_json.h"

#include <vector>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using Tokens = google::protobuf::RepeatedPtrField<v1::Token>;

Json bytes_to_json(const std::string& bytes) {
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

Json token_to_json(const v1::Token& token) {
  Json json{{"id", token.id()}};
  json["logprob"] = token.has_logprob() ? Json(token.logprob()) : Json(nullptr);
  json["bytes"] = bytes_to_json(token.bytes());
  json["top"] = Json::array();
  for (const v1::TokenAlternative& other : token.top()) {
    json["top"].push_back({{"id", other.id()}, {"logprob", other.logprob()}, {"bytes", bytes_to_json(other.bytes())}});
  }
  return json;
}

Json tokens_to_json(const Tokens& tokens) {
  Json list = Json::array();
  for (const v1::Token& token : tokens) list.push_back(token_to_json(token));
  return list;
}

Json ids_to_json(const Tokens& tokens) {
  Json list = Json::array();
  for (const v1::Token& token : tokens) list.push_back(token.id());
  return list;
}

void add_choice(const v1::Choice& choice, Json& json) {
  const bool has_logprobs = !choice.tokens().empty() && choice.tokens(0).has_logprob();
  const bool has_ended = choice.reason() != v1::FINISH_REASON_UNSPECIFIED;
  json["text"] = choice.text();
  json["token_ids"] = ids_to_json(choice.tokens());
  json["logprobs"] = has_logprobs ? tokens_to_json(choice.tokens()) : Json(nullptr);
  json["finish_reason"] = has_ended ? Json(finish_reason_name(choice.reason())) : Json(nullptr);
  if (choice.has_stop()) json["stop"] = choice.stop();
  if (choice.has_stop_token_id()) json["stop_token_id"] = choice.stop_token_id();
}

Json choices_to_json(const v1::CompleteResponse& answer) {
  Json list = Json::array();
  for (const v1::Choice& choice : answer.choices()) {
    Json json{{"index", choice.index()}};
    add_choice(choice, json);
    list.push_back(std::move(json));
  }
  return list;
}

Json ledger_to_json(const v1::Ledger& ledger) {
  return {{"queue_ms", ledger.queue_ms()},
          {"prefill_ms", ledger.prefill_ms()},
          {"decode_ms", ledger.decode_ms()},
          {"interference_ms", ledger.interference_ms()},
          {"pause_ms", ledger.pause_ms()},
          {"delivery_ms", ledger.delivery_ms()},
          {"end_to_end_ms", ledger.end_to_end_ms()},
          {"ttft_ms", ledger.ttft_ms()},
          {"tpot_ms", ledger.tpot_ms()}};
}

Json optional_ms(const std::optional<Duration>& duration) {
  return duration ? Json(to_milliseconds(*duration)) : Json(nullptr);
}

Json timing_to_json(const client::StreamTiming& timing, const v1::CompleteResponse& answer) {
  Json json{{"ttft_ms", optional_ms(timing.ttft)},
            {"tpot_ms", optional_ms(timing.tpot)},
            {"end_to_end_ms", to_milliseconds(timing.end_to_end)},
            {"tokens_per_second", tokens_per_second(timing)}};
  if (answer.has_ledger()) json["server"] = ledger_to_json(answer.ledger());
  return json;
}

/// What the daemon says is UTF-8; should it not be, a replacement character is better than no answer.
std::string to_text(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json error_to_json(const Status& status) {
  Json json{{"code", status_code_name(status.code())}, {"message", status.message()}};
  if (status.retry_after_ms() > 0) json["retry_after_ms"] = status.retry_after_ms();
  return json;
}

}  // namespace

std::string_view finish_reason_name(v1::FinishReason reason) {
  switch (reason) {
    case v1::FINISH_REASON_STOP:
      return "stop";
    case v1::FINISH_REASON_LENGTH:
      return "length";
    case v1::FINISH_REASON_CANCELLED:
      return "cancelled";
    default:
      return "none";
  }
}

double tokens_per_second(const client::StreamTiming& timing) {
  const double seconds = to_seconds(timing.end_to_end);
  return seconds > 0 ? timing.completion_tokens / seconds : 0.0;
}

std::string answer_to_json(const v1::CompleteResponse& answer, const client::StreamTiming& timing,
                           const Status& status) {
  Json json{{"request_id", answer.prompt_info().request_id()}, {"model", answer.prompt_info().model()}};
  // An answer that failed before its first token has no choice yet, but the fields are there all the same.
  add_choice(answer.choices().empty() ? v1::Choice() : answer.choices(0), json);
  json["usage"] = {
      {"prompt_tokens", answer.has_usage() ? answer.usage().prompt_tokens() : answer.prompt_info().prompt_tokens()},
      {"completion_tokens", timing.completion_tokens},
      {"cached_tokens", answer.usage().cached_tokens()}};
  json["timing"] = timing_to_json(timing, answer);
  if (!answer.prompt_tokens().empty()) json["prompt_tokens"] = tokens_to_json(answer.prompt_tokens());
  if (answer.choices_size() > 1) json["choices"] = choices_to_json(answer);
  if (!status.ok()) json["error"] = error_to_json(status);
  return to_text(json);
}

std::string refusal_to_json(const Status& status) {
  return to_text({{"error", error_to_json(status)}});
}

}  // namespace sluice::cli
