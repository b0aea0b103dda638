#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/connection_options.h"
#include "sluice/v1/inference.pb.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// The command line of `sluice complete`. What was not given stays empty: the daemon's defaults are the daemon's.
struct CompleteOptions {
  ConnectionOptions connection;
  std::string prompt;  ///< "-" is stdin
  bool prompt_is_ids = false;
  bool json = false;
  std::optional<std::string> model;
  bool parse_special = false;
  std::optional<int32_t> n;
  std::optional<float> temperature;
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<int64_t> seed;
  std::optional<float> repetition_penalty;
  std::optional<float> presence_penalty;
  std::optional<float> frequency_penalty;
  std::vector<std::string> logit_bias;  ///< "ID:BIAS"
  std::optional<int32_t> max_tokens;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  bool ignore_eos = false;
  std::optional<int32_t> logprobs;
  bool echo = false;
  std::optional<int32_t> priority;
  std::optional<std::string> cache_salt;
};

void add_complete_options(CLI::App& app, CompleteOptions& options);
/// The same for a message of a conversation, which need not be given.
void add_chat_answer_options(CLI::App& app, CompleteOptions& options);

/// Reads the prompt, from `in` if it is "-"; UNAVAILABLE when that can't be read. Ranges are the daemon's business;
/// what no daemon could read is refused here with INVALID_ARGUMENT.
Result<v1::CompleteRequest> to_request(const CompleteOptions& options, std::istream& in);
/// The same for a conversation that still lacks its messages.
Result<v1::ChatRequest> to_chat_request(const CompleteOptions& options);

}  // namespace sluice::cli
