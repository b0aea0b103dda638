#include "server/answer_parts.h"

#include <array>

#include "engine/utf8.h"

namespace sluice::server {

Json answer_head(const AnswerTraits& traits, std::string_view object) {
  return {{"id", traits.id},
          {"object", object},
          {"created", traits.created},
          {"model", traits.model.name},
          {"choices", Json::array()}};
}

std::string write_answer(const AnswerTraits& traits, std::string_view object, const Completion& completion,
                         TimePoint now, const std::function<Json(size_t index)>& make_choice) {
  Json head = answer_head(traits, object);
  head.erase("choices");
  std::string text = write_json(head);
  text.back() = ',';
  text += "\"choices\":[";
  for (size_t i = 0; i < completion.choices.size(); ++i) text += (i == 0 ? "" : ",") + write_json(make_choice(i));
  const Json tail = {{"usage", usage_json(completion.totals.usage)},
                     {"sluice", ledger_json(completion.totals.timing, now)}};
  return text + "]," + write_json(tail).substr(1);
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json ledger_json(const RequestTiming& timing, TimePoint now) {
  return {{"queue_ms", to_milliseconds(timing.queue)},
          {"prefill_ms", to_milliseconds(timing.prefill)},
          {"decode_ms", to_milliseconds(timing.decode)},
          {"interference_ms", to_milliseconds(timing.interference)},
          {"pause_ms", to_milliseconds(timing.pause)},
          {"delivery_ms", to_milliseconds(timing.delivery(now))},
          {"end_to_end_ms", to_milliseconds(timing.end_to_end(now))},
          {"ttft_ms", to_milliseconds(timing.ttft)},
          {"tpot_ms", to_milliseconds(timing.tpot)}};
}

std::string_view finish_reason(const ChoiceEnd& end) {
  switch (end.reason) {
    case scheduler::FinishReason::kStop:
      return "stop";
    case scheduler::FinishReason::kLength:
      return "length";
    case scheduler::FinishReason::kCancelled:
      return "cancelled";
  }
  return "stop";
}

std::string token_text(const engine::Tokenizer& tokenizer, int32_t id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string_view bytes = tokenizer.token_bytes(id);
  if (engine::is_valid_utf8(bytes)) return std::string(bytes);
  std::string text = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text.append("\\x").append(1, kDigits[value >> 4U]).append(1, kDigits[value & 15U]);
  }
  return text;
}

Json token_bytes_json(const engine::Tokenizer& tokenizer, int32_t id) {
  Json bytes = Json::array();
  for (const char byte : tokenizer.token_bytes(id)) bytes.push_back(static_cast<unsigned char>(byte));
  return bytes;
}

Json usage_chunk(const AnswerTraits& traits, std::string_view object, const Totals& totals, TimePoint now) {
  Json chunk = answer_head(traits, object);
  chunk["usage"] = usage_json(totals.usage);
  chunk["sluice"] = ledger_json(totals.timing, now);
  return chunk;
}

void add_totals(Json& chunk, const AnswerTraits& traits, const ChoiceEnd& end, TimePoint now) {
  if (traits.include_usage) {
    chunk["usage"] = nullptr;
  } else if (end.totals) {
    chunk["sluice"] = ledger_json(end.totals->timing, now);
  }
}

}  // namespace sluice::server
