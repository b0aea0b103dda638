#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "server/ask_kind.h"
#include "server/chat_prompter.h"
#include "server/json_text.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

/// How the client wants to be answered.
struct AnswerWish {
  bool is_stream = false;
  bool include_usage = false;        ///< a last chunk with the usage
  std::vector<std::string> ignored;  ///< names of the body's members that mean nothing here
};

/// A body of POST /v1/completions.
struct CompletionAsk {
  v1::CompleteRequest request;
  AnswerWish wish;
};

/// A body of POST /v1/chat/completions; the request still lacks its prompt.
struct ChatAsk {
  v1::CompleteRequest request;
  AnswerWish wish;
  ChatPromptInput prompt;
};

// INVALID_ARGUMENT names the member at fault. Only types and what this API adds to the core's are checked here: limits
// are the core's, see in_json_terms().

Result<CompletionAsk> parse_completion_ask(const Json& body);
Result<ChatAsk> parse_chat_ask(const Json& body);

/// The same failure with the core's field, e.g. "sampling.top_p", replaced by the body's, "top_p".
Status in_json_terms(const Status& status, AskKind kind);

}  // namespace sluice::server
