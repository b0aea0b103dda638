#include "server/request_parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/utf8.h"

namespace sluice::server {

namespace {

constexpr int32_t kChoicesMax = 64;
constexpr int32_t kPriorityMax = 100;  ///< and its negative
constexpr int64_t kCacheSaltBytesMax = 128;
constexpr int32_t kStopsMax = 16;
/// A stop string is matched in every choice, each with state of its own.
constexpr size_t kStopBytesMax = 1024;
/// Texts up to this size are tokenised in any case, so that a refusal can say how many tokens they are.
constexpr int64_t kExactBytesMax = 1 << 20;
constexpr int32_t kStopTokenIdsMax = 64;
constexpr size_t kQuotedBytesMax = 200;  ///< of what a client sent, in a message

std::string got(int64_t value) {
  return ", got " + std::to_string(value);
}

std::string range_problem(int64_t low, int64_t high, int64_t value) {
  return "must be from " + std::to_string(low) + " to " + std::to_string(high) + got(value);
}

Status check_range(std::string field, int64_t low, int64_t high, int64_t value) {
  if (value >= low && value <= high) return {};
  return invalid_field(std::move(field), range_problem(low, high, value));
}

Status check_model(const v1::CompleteRequest& request, const ServedModel& model) {
  if (request.model().empty() || request.model() == model.name) return {};
  // A status travels in HTTP/2 headers, which are small; a name of any length may have come.
  const std::string_view asked = std::string_view(request.model()).substr(0, kQuotedBytesMax);
  const std::string quoted(asked.substr(0, engine::complete_utf8_prefix(asked)));
  return not_found("model \"" + quoted + "\" is not served here, \"" + model.name + "\" is").with_field("model");
}

Result<std::vector<int32_t>> prompt_from_ids(const v1::TokenIds& token_ids, const ServedModel& model) {
  if (token_ids.ids().empty()) return invalid_field("prompt.token_ids.ids", "must not be empty");
  SLUICE_RETURN_IF_ERROR(check_token_ids("prompt.token_ids.ids", token_ids.ids(), model.tokenizer->vocab_size()));
  return std::vector<int32_t>(token_ids.ids().begin(), token_ids.ids().end());
}

Result<std::vector<int32_t>> prompt_from_text(const v1::CompleteRequest& request, const ServedModel& model) {
  SLUICE_RETURN_IF_ERROR(check_text_can_fit("prompt.text", request.text().size(), model));
  const auto special = request.parse_special() ? engine::SpecialTokens::kParse : engine::SpecialTokens::kAsText;
  Result<std::vector<int32_t>> prompt = encode_prompt(model, request.text(), special);
  if (!prompt.ok()) return invalid_field("prompt.text", "can't be read: " + prompt.status().message());
  if (prompt->empty()) return invalid_field("prompt.text", "must not be empty");
  return prompt;
}

Result<std::vector<int32_t>> parse_prompt(const v1::CompleteRequest& request, const ServedModel& model) {
  switch (request.prompt_case()) {
    case v1::CompleteRequest::kText:
      return prompt_from_text(request, model);
    case v1::CompleteRequest::kTokenIds:
      return prompt_from_ids(request.token_ids(), model);
    case v1::CompleteRequest::PROMPT_NOT_SET:
      break;
  }
  return invalid_field("prompt", "must be set: either text or token_ids");
}

Status check_prompt_fits(const std::vector<int32_t>& prompt, const ServedModel& model) {
  if (prompt.size() <= static_cast<size_t>(model.context_length)) return {};
  return invalid_field("prompt", "has " + std::to_string(prompt.size()) + " tokens, but the context holds " +
                                     std::to_string(model.context_length));
}

/// SamplingParams speaks of its members; a client knows them as fields of `sampling`.
Status as_sampling_field(const Status& problem) {
  return invalid_argument("sampling." + problem.message()).with_field("sampling." + problem.field());
}

std::vector<engine::LogitBias> parse_logit_bias(const v1::SamplingOptions& options) {
  std::vector<engine::LogitBias> biases;
  for (const auto& [token, bias] : options.logit_bias()) biases.push_back({token, bias});
  // A protobuf map has no order of its own; the sum of floats must not depend on it.
  std::ranges::sort(biases, {}, &engine::LogitBias::token);
  return biases;
}

Result<engine::SamplingParams> parse_sampling(const v1::CompleteRequest& request, const ServedModel& model) {
  const v1::SamplingOptions& options = request.sampling();
  if (options.top_k() < -1) return invalid_field("sampling.top_k", "must be -1 or more" + got(options.top_k()));
  engine::SamplingParams params;
  if (options.has_temperature()) params.temperature = options.temperature();
  if (options.has_top_k()) params.top_k = std::max(options.top_k(), 0);
  if (options.has_top_p()) params.top_p = options.top_p();
  if (options.has_min_p()) params.min_p = options.min_p();
  if (options.has_repetition_penalty()) params.repetition_penalty = options.repetition_penalty();
  if (options.has_presence_penalty()) params.presence_penalty = options.presence_penalty();
  if (options.has_frequency_penalty()) params.frequency_penalty = options.frequency_penalty();
  params.logit_bias = parse_logit_bias(options);
  if (request.response().has_logprobs()) {
    params.top_logprobs = request.response().logprobs();
    SLUICE_RETURN_IF_ERROR(
        check_range("response.logprobs", 0, engine::SamplingParams::kTopLogprobsMax, params.top_logprobs));
  }
  if (const Status valid = params.validate(model.tokenizer->vocab_size()); !valid.ok()) return as_sampling_field(valid);
  return params;
}

Result<std::vector<std::string>> parse_stops(const v1::StoppingOptions& options) {
  if (options.stop_size() > kStopsMax) {
    return invalid_field("stopping.stop",
                         "may hold " + std::to_string(kStopsMax) + " strings" + got(options.stop_size()));
  }
  for (int i = 0; i < options.stop_size(); ++i) {
    const std::string field = "stopping.stop[" + std::to_string(i) + "]";
    if (options.stop(i).empty()) return invalid_field(field, "must not be empty");
    if (options.stop(i).size() > kStopBytesMax) {
      return invalid_field(field, "must be at most " + std::to_string(kStopBytesMax) + " bytes" +
                                      got(static_cast<int64_t>(options.stop(i).size())));
    }
  }
  return std::vector<std::string>(options.stop().begin(), options.stop().end());
}

/// The request's own stop tokens and the model's end tokens, each once, ascending.
Result<std::vector<int32_t>> parse_stop_tokens(const v1::StoppingOptions& options, const engine::Tokenizer& tokenizer) {
  if (options.stop_token_ids_size() > kStopTokenIdsMax) {
    return invalid_field("stopping.stop_token_ids",
                         "may hold " + std::to_string(kStopTokenIdsMax) + " ids" + got(options.stop_token_ids_size()));
  }
  SLUICE_RETURN_IF_ERROR(check_token_ids("stopping.stop_token_ids", options.stop_token_ids(), tokenizer.vocab_size()));
  std::vector<int32_t> ids(options.stop_token_ids().begin(), options.stop_token_ids().end());
  if (!options.ignore_eos()) ids.insert(ids.end(), tokenizer.end_ids().begin(), tokenizer.end_ids().end());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// prompt_tokens is within the context.
Result<int32_t> parse_max_tokens(const v1::StoppingOptions& options, int32_t prompt_tokens, const ServedModel& model) {
  const int32_t context_room = model.context_length - prompt_tokens;
  if (options.has_max_tokens()) {
    if (options.max_tokens() < 0)
      return invalid_field("stopping.max_tokens", "must be 0 or more" + got(options.max_tokens()));
    return std::min(options.max_tokens(), context_room);
  }
  // A prompt that leaves the pool no room at all still asks for one token, so that the scheduler refuses it and names
  // both numbers.
  const int32_t pool_room = std::max(model.pool_tokens - prompt_tokens, 1);
  return std::min(context_room, pool_room);
}

Result<int32_t> parse_choice_count(const v1::CompleteRequest& request) {
  const int32_t count = request.has_n() ? request.n() : 1;
  SLUICE_RETURN_IF_ERROR(check_range("n", 1, kChoicesMax, count));
  return count;
}

Status check_order_and_salt(const v1::CompleteRequest& request) {
  SLUICE_RETURN_IF_ERROR(check_range("priority", -kPriorityMax, kPriorityMax, request.priority()));
  const auto salt_bytes = static_cast<int64_t>(request.cache_salt().size());
  if (salt_bytes <= kCacheSaltBytesMax) return {};
  return invalid_field("cache_salt",
                       "must be at most " + std::to_string(kCacheSaltBytesMax) + " bytes" + got(salt_bytes));
}

AnswerTerms make_terms(const v1::CompleteRequest& request, const scheduler::Submission& submission,
                       std::vector<std::string> stops) {
  AnswerTerms terms;
  terms.stops = std::move(stops);
  terms.stop_token_ids = submission.stop_token_ids;
  if (request.response().echo()) terms.echoed_prompt = submission.prompt;
  terms.scores_prompt = submission.score_prompt;
  terms.reports_logprobs = request.response().has_logprobs();
  terms.choice_count = submission.sequence_count;
  terms.prompt_tokens = static_cast<int32_t>(submission.prompt.size());
  terms.max_tokens = submission.max_new_tokens;
  terms.priority = submission.priority;
  terms.tenant = submission.tenant;
  terms.arrival = submission.arrival;
  terms.deadline = submission.deadline;
  return terms;
}

}  // namespace

Status check_token_ids(const std::string& field, const google::protobuf::RepeatedField<int32_t>& ids,
                       int32_t vocab_size) {
  const auto bad = std::ranges::find_if(ids, [&](int32_t id) { return id < 0 || id >= vocab_size; });
  if (bad == ids.end()) return {};
  return invalid_field(field + "[" + std::to_string(bad - ids.begin()) + "]",
                       "must be a token of the vocabulary, 0 to " + std::to_string(vocab_size - 1) + got(*bad));
}

Status check_text_can_fit(const std::string& field, size_t bytes, const ServedModel& model) {
  const auto size = static_cast<int64_t>(bytes);
  const int64_t longest = model.longest_token_bytes;
  if (size <= std::max(kExactBytesMax, model.context_length * longest)) return {};
  return invalid_field(field, "has " + std::to_string(size) + " bytes, at least " +
                                  std::to_string((size + longest - 1) / longest) + " tokens, but the context holds " +
                                  std::to_string(model.context_length));
}

Result<std::vector<int32_t>> encode_prompt(const ServedModel& model, std::string_view text,
                                           engine::SpecialTokens special) {
  const engine::Tokenizer& tokenizer = *model.tokenizer;
  SLUICE_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.encode(text, special));
  const std::optional<int32_t> bos = tokenizer.bos_id();
  const bool needs_bos = tokenizer.adds_bos() && bos && (ids.empty() || ids.front() != *bos);
  if (needs_bos) ids.insert(ids.begin(), *bos);
  return ids;
}

Result<ParsedRequest> parse_complete_request(const v1::CompleteRequest& request, const ServedModel& model,
                                             const RequestOrigin& origin) {
  SLUICE_RETURN_IF_ERROR(check_model(request, model));
  scheduler::Submission submission;
  // What costs nothing is checked before the prompt is tokenised.
  SLUICE_ASSIGN_OR_RETURN(submission.sequence_count, parse_choice_count(request));
  SLUICE_RETURN_IF_ERROR(check_order_and_salt(request));
  SLUICE_ASSIGN_OR_RETURN(submission.sampling, parse_sampling(request, model));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> stops, parse_stops(request.stopping()));
  SLUICE_ASSIGN_OR_RETURN(submission.stop_token_ids, parse_stop_tokens(request.stopping(), *model.tokenizer));
  SLUICE_ASSIGN_OR_RETURN(submission.prompt, parse_prompt(request, model));
  SLUICE_RETURN_IF_ERROR(check_prompt_fits(submission.prompt, model));
  SLUICE_ASSIGN_OR_RETURN(submission.max_new_tokens,
                          parse_max_tokens(request.stopping(), static_cast<int32_t>(submission.prompt.size()), model));
  submission.seed =
      request.sampling().has_seed() ? static_cast<uint64_t>(request.sampling().seed()) : origin.fresh_seed;
  submission.score_prompt = request.response().echo() && request.response().has_logprobs();
  submission.tenant = origin.tenant;
  submission.priority = request.priority();
  submission.arrival = origin.arrival;
  submission.deadline = origin.deadline;
  AnswerTerms terms = make_terms(request, submission, std::move(stops));
  return ParsedRequest{std::move(submission), std::move(terms)};
}

}  // namespace sluice::server
