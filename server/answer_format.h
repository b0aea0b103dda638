#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/completion_collector.h"
#include "server/completion_event.h"
#include "server/json_text.h"
#include "server/served_model.h"

namespace sluice::server {

/// What an answer says of itself, and what was asked of it.
struct AnswerTraits {
  std::string id;       ///< "cmpl-…"
  int64_t created = 0;  ///< seconds since 1970
  const ServedModel& model;
  int32_t choice_count = 1;
  bool reports_logprobs = false;
  bool include_usage = false;  ///< a stream tells it in a chunk of its own
};

/// Tells a request's events in one of the two shapes of OpenAI's API. For one request: it counts characters as they go
/// by. One thread at a time.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  /// The answer in one piece, as JSON text. `now` is the moment of hand-over, which ends the ledger's delivery.
  virtual std::string whole(const Completion& completion, TimePoint now) = 0;
  /// The chunks of a stream that tell an event; none for one that says nothing yet. Not RequestDenied.
  virtual std::vector<Json> chunks(const CompletionEvent& event, TimePoint now) = 0;
};

/// `object` "text_completion", with logprobs as lists. The lists have two members that OpenAI's have not, `token_ids`
/// and `bytes`, since a token need not be whole characters.
std::unique_ptr<AnswerFormat> text_completion_format(AnswerTraits traits);
/// `object` "chat.completion" and "chat.completion.chunk".
std::unique_ptr<AnswerFormat> chat_completion_format(AnswerTraits traits);

}  // namespace sluice::server
