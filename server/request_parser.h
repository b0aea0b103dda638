#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduler/submission.h"
#include "server/answer_terms.h"
#include "server/served_model.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

/// A request that was checked, tokenised and capped. The submission still lacks its id.
struct ParsedRequest {
  scheduler::Submission submission;
  AnswerTerms terms;
};

/// When a request came and must end, and what its draws depend on when it names no seed.
struct RequestOrigin {
  TimePoint arrival;
  TimePoint deadline = TimePoint::max();
  uint64_t fresh_seed = 0;
  std::string tenant = {};
};

/// Checks a request against the limits that inference.proto states and the served model. INVALID_ARGUMENT begins with
/// the field's path in the proto, e.g. "sampling.top_p must be …"; NOT_FOUND for another model's name. Thread-safe;
/// tokenises on the calling thread.
///
/// Room: prompt + max_tokens is cut to the context; a prompt as long as the context is answered with 0 tokens and
/// kLength, a longer one is refused. Without max_tokens the answer may also not outgrow the KV pool; an explicit one
/// that can never fit is the scheduler's to refuse.
Result<ParsedRequest> parse_complete_request(const v1::CompleteRequest& request, const ServedModel& model,
                                             const RequestOrigin& origin);

/// Reading a text of many megabytes would keep a thread busy for seconds, only to refuse it: what is too long for the
/// context whatever its tokens are is refused by its bytes, with `field`.
Status check_text_can_fit(const std::string& field, size_t bytes, const ServedModel& model);

/// Token ids of a text prompt: with bos in front where the model's prompts begin with one and the text does not name it
/// itself.
Result<std::vector<int32_t>> encode_prompt(const ServedModel& model, std::string_view text,
                                           engine::SpecialTokens special);

/// Names the first id outside the vocabulary by its place, e.g. "prompt.token_ids.ids[3] must be …".
Status check_token_ids(const std::string& field, const google::protobuf::RepeatedField<int32_t>& ids,
                       int32_t vocab_size);

}  // namespace sluice::server
