#include "server/answer_size.h"

#include <algorithm>
#include <bit>
#include <string>

namespace sluice::server {

namespace {

// Protobuf's encoding: every field has a tag of one byte, as no field number here is above 15.

constexpr int64_t kFloatField = 1 + 4;
constexpr int64_t kDoubleField = 1 + 8;

int64_t varint(int64_t value) {
  return (std::bit_width(static_cast<uint64_t>(value) | 1) + 6) / 7;
}

int64_t number_field(int64_t value_max) {
  return 1 + varint(value_max);
}

/// Bytes, a string or a message.
int64_t sized_field(int64_t bytes_max) {
  return 1 + varint(bytes_max) + bytes_max;
}

/// What a token costs beside its text.
struct TokenCost {
  int64_t plain;   ///< only its id
  int64_t named;   ///< with its bytes
  int64_t scored;  ///< with its bytes, its log-probability and the alternatives
};

TokenCost token_cost(const ServedModel& model, int32_t alternatives) {
  const int64_t id = number_field(model.tokenizer->vocab_size());
  const int64_t named = id + sized_field(model.longest_token_bytes);
  const int64_t scored = named + kFloatField;
  return {.plain = sized_field(id),
          .named = sized_field(named),
          .scored = sized_field(scored + alternatives * sized_field(scored))};
}

int64_t choice_bytes(const ParsedRequest& request, const ServedModel& model, int64_t token) {
  constexpr int64_t kReasonField = 2;
  const int64_t tokens = request.submission.max_new_tokens;
  size_t stop_bytes = 0;
  for (const std::string& stop : request.terms.stops) stop_bytes = std::max(stop_bytes, stop.size());
  return sized_field(number_field(request.terms.choice_count) + sized_field(tokens * 3 * model.longest_token_bytes) +
                     tokens * token + kReasonField + sized_field(static_cast<int64_t>(stop_bytes)) +
                     number_field(model.tokenizer->vocab_size()));
}

int64_t rest_bytes(const ParsedRequest& request, const ServedModel& model) {
  constexpr int64_t kRequestIdDigits = 20;
  constexpr int64_t kLedgerFields = 8;
  const int64_t prompt_tokens = number_field(request.terms.prompt_tokens);
  const int64_t completion_tokens =
      number_field(int64_t{request.submission.max_new_tokens} * request.terms.choice_count);
  return sized_field(sized_field(kRequestIdDigits) + sized_field(static_cast<int64_t>(model.name.size())) +
                     prompt_tokens) +
         sized_field(prompt_tokens + completion_tokens) + sized_field(kLedgerFields * kDoubleField);
}

std::string too_large(int64_t bytes, int64_t bytes_max) {
  return "makes an answer of up to " + std::to_string(bytes) + " bytes, but one message holds " +
         std::to_string(bytes_max) + " (server.max_message_mib); ";
}

}  // namespace

AnswerSize largest_answer(const ParsedRequest& request, const ServedModel& model) {
  const AnswerTerms& terms = request.terms;
  const TokenCost cost = token_cost(model, std::max(request.submission.sampling.top_logprobs, 0));
  const auto echoed = static_cast<int64_t>(terms.echoed_prompt.size());
  return {
      .prompt = echoed * (terms.scores_prompt ? cost.scored : cost.named),
      .choices = terms.choice_count * choice_bytes(request, model, terms.reports_logprobs ? cost.scored : cost.plain),
      .rest = rest_bytes(request, model)};
}

Status check_answer_fits(const ParsedRequest& request, const ServedModel& model, int64_t bytes_max) {
  const AnswerSize size = largest_answer(request, model);
  if (size.total() <= bytes_max) return {};
  if (size.prompt + size.rest > bytes_max) {
    return invalid_field("response.echo", too_large(size.total(), bytes_max) + "use StreamComplete");
  }
  return invalid_field("stopping.max_tokens", "of " + std::to_string(request.submission.max_new_tokens) +
                                                  " for each of " + std::to_string(request.terms.choice_count) +
                                                  " choices " + too_large(size.total(), bytes_max) +
                                                  "ask for fewer tokens, or use StreamComplete");
}

}  // namespace sluice::server
