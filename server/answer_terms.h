#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/ask_kind.h"
#include "server/trace_context.h"

namespace sluice::server {

/// What the scheduler need not know of a request: how its answer is to be cut and told. Built with the Submission.
struct AnswerTerms {
  std::vector<std::string> stops;       ///< none empty
  std::vector<int32_t> stop_token_ids;  ///< as in the Submission, ascending; these give no text
  std::vector<int32_t> echoed_prompt;   ///< the prompt when it is to be told, else empty
  bool scores_prompt = false;           ///< its log-probabilities come from the loop
  bool reports_logprobs = false;
  int32_t choice_count = 1;
  int32_t prompt_tokens = 0;
  int32_t max_tokens = 0;  ///< per choice
  int32_t priority = 0;
  std::string tenant;
  TraceContext trace;
  std::string client_id;  ///< what the client calls the request (x-request-id); empty: nothing
  AskKind kind = AskKind::kCompletion;
  TimePoint arrival;
  TimePoint deadline = TimePoint::max();
};

}  // namespace sluice::server
