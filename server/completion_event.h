#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "engine/sampling.h"
#include "scheduler/token_event.h"

namespace sluice::server {

/// One token as a client may see it.
struct TokenReport {
  int32_t id = 0;
  std::optional<float> logprob;           ///< set when asked for and known; never for a prompt's first token
  std::vector<engine::TokenLogprob> top;  ///< the likeliest alternatives, best first; empty when not asked for
};

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  ///< over all choices; end and stop tokens count, tokens behind a stop string don't
  int32_t cached_tokens = 0;      ///< of the prompt, found in the cache by choice 0
};

/// Where a request's time went, up to the last token computed. What passes until the last event is handed to the
/// connection is the delivery, so it is known only there: queue + prefill + decode + interference + pause +
/// delivery = end to end.
struct RequestTiming {
  TimePoint arrival;
  TimePoint computed;  ///< last token computed; the end of the request when there was no token
  Duration queue{};
  Duration prefill{};
  Duration decode{};
  Duration interference{};
  Duration pause{};
  Duration ttft{};  ///< arrival to first token; 0 when no token came
  Duration tpot{};  ///< (last - first) / (tokens - 1) of choice 0; 0 with fewer than two tokens

  Duration delivery(TimePoint handed_over) const { return handed_over - computed; }
  Duration end_to_end(TimePoint handed_over) const { return handed_over - arrival; }
};

/// What the last event of a request also says.
struct Totals {
  Usage usage;
  RequestTiming timing;
};

/// Always first: the request is accepted.
struct RequestOpened {
  RequestId id;
  int32_t prompt_tokens = 0;
};

/// The request was not accepted; its only event.
struct RequestDenied {
  Status status;
};

/// A run of the prompt's tokens, in order; all come before the first ChoiceText.
struct PromptEcho {
  int32_t first_position = 0;
  std::vector<TokenReport> tokens;
};

/// More of one choice. `text` is whole characters; it is empty while a character or a possible stop string is
/// incomplete.
struct ChoiceText {
  int32_t choice = 0;
  std::string text;
  std::vector<TokenReport> tokens;
};

/// The end of one choice.
struct ChoiceEnd {
  int32_t choice = 0;
  scheduler::FinishReason reason = scheduler::FinishReason::kStop;
  std::optional<std::string> stop;       ///< the stop string that ended it, if one did
  std::optional<int32_t> stop_token_id;  ///< the token that ended it, if one did
  std::optional<Totals> totals;          ///< on the request's last event
};

/// The request could not go on; ends all choices that had not ended.
struct RequestError {
  Status status;
  Totals totals;
};

/// What a client is told about its request, in order: RequestOpened, PromptEcho*, ChoiceText and ChoiceEnd of each
/// choice; the last is a ChoiceEnd with totals or the one RequestError. Or RequestDenied alone.
using CompletionEvent = std::variant<RequestOpened, RequestDenied, PromptEcho, ChoiceText, ChoiceEnd, RequestError>;

inline bool is_last(const CompletionEvent& event) {
  if (const auto* end = std::get_if<ChoiceEnd>(&event)) return end->totals.has_value();
  return std::holds_alternative<RequestDenied>(event) || std::holds_alternative<RequestError>(event);
}

}  // namespace sluice::server
