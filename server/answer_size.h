#pragma once

#include <cstdint>

#include "base/status.h"
#include "server/request_parser.h"
#include "server/served_model.h"

namespace sluice::server {

/// The most bytes that an answer in one message, a CompleteResponse, can take. An answer has as many only if each
/// choice ends at max_tokens and each token is the vocabulary's longest; it is never larger.
///
///     prompt  = prompt tokens x token                         with echo
///     choices = n x (max_tokens x (token + 3 x L) + the end)
///     token   = id + log-probability + L + alternatives x (id + log-probability + L)
///
/// L is the longest token's bytes; text is 3 x L, since each byte may come out as U+FFFD. What is not asked for is left
/// out. Field tags and lengths are counted as they are on the wire.
struct AnswerSize {
  int64_t prompt = 0;
  int64_t choices = 0;
  int64_t rest = 0;  ///< prompt info, usage and ledger

  int64_t total() const { return prompt + choices + rest; }
};
AnswerSize largest_answer(const ParsedRequest& request, const ServedModel& model);

/// INVALID_ARGUMENT, with the field that asks for too much, when the answer may be larger than `bytes_max`.
Status check_answer_fits(const ParsedRequest& request, const ServedModel& model, int64_t bytes_max);

}  // namespace sluice::server
