#include "cli/complete_options.h"

#include <utility>

#include "base/tenant_name.h"
#include "cli/number_option.h"
#include "cli/text_input.h"

namespace sluice::cli {
namespace {

void add_sampling_options(CLI::App& app, CompleteOptions& options) {
  add_number(app, "--temperature", options.temperature, "0 takes the likeliest token; default 1");
  add_number(app, "--top-k", options.top_k, "Keep the k likeliest tokens; 0 keeps all");
  add_number(app, "--top-p", options.top_p, "Keep the likeliest tokens that have this probability together");
  add_number(app, "--min-p", options.min_p, "Drop tokens less likely than this share of the likeliest");
  add_number(app, "--seed", options.seed, "The same seed, prompt and options give the same tokens");
  add_number(app, "--repetition-penalty", options.repetition_penalty, "Against tokens of prompt and output; 1 is off");
  add_number(app, "--presence-penalty", options.presence_penalty, "Once for each token of the output");
  add_number(app, "--frequency-penalty", options.frequency_penalty, "For each occurrence in the output");
  app.add_option("--logit-bias", options.logit_bias, "Added to a token's logit; may be repeated")
      ->type_name("ID:BIAS")
      ->allow_extra_args(false);
}

void add_stopping_options(CLI::App& app, CompleteOptions& options) {
  add_number(app, "--max-tokens", options.max_tokens,
             "Most tokens to generate; default: what the context has room for");
  app.add_option("--stop", options.stop, "End before this text; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.add_option("--stop-token-id", options.stop_token_ids, "End when this token is drawn; may be repeated")
      ->type_name("ID")
      ->allow_extra_args(false);
  app.add_flag("--ignore-eos", options.ignore_eos, "Go on past the model's end tokens");
}

void add_serving_options(CLI::App& app, CompleteOptions& options) {
  app.add_option("--tenant", options.connection.tenant, "For whom the request is; shares are fair among tenants")
      ->type_name("NAME");
  add_number(app, "--priority", options.priority, "Lower ones are served first; default 0");
  app.add_option("--cache-salt", options.cache_salt, "Reuse cached prompts only of requests with the same salt")
      ->type_name("TEXT");
}

void add_response_options(CLI::App& app, CompleteOptions& options) {
  add_number(app, "--n", options.n,
             "Choices to generate; without --json they are printed at the end, one after another");
  add_number(app, "--logprobs", options.logprobs,
             "Log-probabilities and this many alternatives per token (shown with --json)");
  app.add_flag("--echo", options.echo, "Print the prompt as well");
  app.add_flag("--json", options.json, "Print one JSON object at the end");
}

v1::SamplingOptions sampling_of(const CompleteOptions& options) {
  v1::SamplingOptions sampling;
  if (options.temperature) sampling.set_temperature(*options.temperature);
  if (options.top_k) sampling.set_top_k(*options.top_k);
  if (options.top_p) sampling.set_top_p(*options.top_p);
  if (options.min_p) sampling.set_min_p(*options.min_p);
  if (options.seed) sampling.set_seed(*options.seed);
  if (options.repetition_penalty) sampling.set_repetition_penalty(*options.repetition_penalty);
  if (options.presence_penalty) sampling.set_presence_penalty(*options.presence_penalty);
  if (options.frequency_penalty) sampling.set_frequency_penalty(*options.frequency_penalty);
  return sampling;
}

Status add_logit_bias(const std::vector<std::string>& texts, v1::SamplingOptions& sampling) {
  for (const std::string& text : texts) {
    SLUICE_ASSIGN_OR_RETURN(const LogitBias bias, parse_logit_bias(text));
    (*sampling.mutable_logit_bias())[bias.id] = bias.bias;
  }
  return {};
}

Status set_stopping(const CompleteOptions& options, v1::StoppingOptions& stopping) {
  if (options.max_tokens) stopping.set_max_tokens(*options.max_tokens);
  if (options.ignore_eos) stopping.set_ignore_eos(true);
  stopping.mutable_stop_token_ids()->Assign(options.stop_token_ids.begin(), options.stop_token_ids.end());
  for (const std::string& stop : options.stop) {
    SLUICE_RETURN_IF_ERROR(check_utf8(stop, "the --stop text"));
    stopping.add_stop(stop);
  }
  return {};
}

Status set_prompt(const CompleteOptions& options, std::istream& in, v1::CompleteRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(std::string prompt, read_argument(options.prompt, in));
  if (options.prompt_is_ids) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, parse_ids(prompt));
    request.mutable_token_ids()->mutable_ids()->Assign(ids.begin(), ids.end());
    return {};
  }
  SLUICE_RETURN_IF_ERROR(check_utf8(prompt, "the prompt"));
  request.set_text(std::move(prompt));
  if (options.parse_special) request.set_parse_special(true);
  return {};
}

void add_answer_options(CLI::App& app, CompleteOptions& options) {
  app.add_option("--model", options.model, "The served model's name; default: the one there is")->type_name("NAME");
  add_sampling_options(app, options);
  add_stopping_options(app, options);
  add_response_options(app, options);
  add_serving_options(app, options);
}

/// All but the prompt, of either kind of request.
template <typename Request>
Status set_options(const CompleteOptions& options, Request& request) {
  if (options.model) {
    SLUICE_RETURN_IF_ERROR(check_utf8(*options.model, "the --model name"));
    request.set_model(*options.model);
  }
  *request.mutable_sampling() = sampling_of(options);
  SLUICE_RETURN_IF_ERROR(add_logit_bias(options.logit_bias, *request.mutable_sampling()));
  SLUICE_RETURN_IF_ERROR(set_stopping(options, *request.mutable_stopping()));
  if (options.logprobs) request.mutable_response()->set_logprobs(*options.logprobs);
  if (options.echo) request.mutable_response()->set_echo(true);
  if (options.n) request.set_n(*options.n);
  // gRPC aborts on metadata that it can't send.
  SLUICE_RETURN_IF_ERROR(check_tenant_name("--tenant", options.connection.tenant));
  if (options.priority) request.set_priority(*options.priority);
  if (options.cache_salt) {
    SLUICE_RETURN_IF_ERROR(check_utf8(*options.cache_salt, "the --cache-salt text"));
    request.set_cache_salt(*options.cache_salt);
  }
  return {};
}

}  // namespace

void add_chat_answer_options(CLI::App& app, CompleteOptions& options) {
  add_connection_options(app, options.connection);
  app.add_option("message", options.prompt, "What to say; without it, each line of stdin is said in turn")
      ->type_name("TEXT");
  add_answer_options(app, options);
}

void add_complete_options(CLI::App& app, CompleteOptions& options) {
  add_connection_options(app, options.connection);
  app.add_option("prompt", options.prompt, "The text to continue; - reads it from stdin")
      ->type_name("TEXT")
      ->required();
  CLI::Option* const ids =
      app.add_flag("--ids", options.prompt_is_ids, "The prompt is a list of token ids, \"1 2 3\" or \"1,2,3\"");
  app.add_flag("--parse-special", options.parse_special, "Read names of special tokens in the prompt as those tokens")
      ->excludes(ids);
  add_answer_options(app, options);
}

Result<v1::CompleteRequest> to_request(const CompleteOptions& options, std::istream& in) {
  v1::CompleteRequest request;
  SLUICE_RETURN_IF_ERROR(set_prompt(options, in, request));
  SLUICE_RETURN_IF_ERROR(set_options(options, request));
  return request;
}

Result<v1::ChatRequest> to_chat_request(const CompleteOptions& options) {
  v1::ChatRequest request;
  SLUICE_RETURN_IF_ERROR(set_options(options, request));
  return request;
}

}  // namespace sluice::cli
