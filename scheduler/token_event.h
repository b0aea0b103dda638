#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "engine/sampling.h"
#include "scheduler/explanation.h"

namespace sluice::scheduler {

enum class FinishReason {
  kStop,    ///< the model's end token or one of the request's stop tokens; that token is in the stream and has no text
  kLength,  ///< max_new_tokens reached
  kCancelled,  ///< by the client, or because the front found a stop string
};

/// Where a sequence's time went. queue + prefill + decode + interference + pause is last_token - arrival (finished -
/// arrival when no token came).
struct Ledger {
  TimePoint arrival;
  TimePoint admitted;     ///< first slice planned; equal to finished when never admitted
  TimePoint first_token;  ///< meaningful when output_tokens > 0
  TimePoint last_token;   ///< meaningful when output_tokens > 0
  TimePoint finished;
  Duration queue{};         ///< arrival to admitted
  Duration prefill{};       ///< admitted to first token
  Duration decode{};        ///< after the first token: steps that computed decode rows only
  Duration interference{};  ///< after the first token: steps that also computed somebody's prompt
  Duration pause{};         ///< after the first token: left out of steps, for want of blocks
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  ///< of the prompt, found in the cache
  int32_t output_tokens = 0;
};

/// The request is in the queue. Always the first event; comes once.
struct Accepted {};

/// The request was not taken; the only event of such a request.
struct Refused {
  Status status;
};

/// Scores of prompt tokens first_position .. first_position + tokens.size() - 1, in order, as chunks are computed.
struct PromptScored {
  int32_t first_position = 0;
  std::vector<engine::SampledToken> tokens;
};

struct TokenSampled {
  int32_t sequence = 0;  ///< 0 .. n-1
  engine::SampledToken token;
  TimePoint time;
};

/// The last event of one sequence.
struct SequenceFinished {
  int32_t sequence = 0;
  FinishReason reason = FinishReason::kStop;
  Ledger ledger;
};

/// The last event of a request that could not go on (deadline, engine failure, shutdown). Ends all sequences that had
/// not finished.
struct RequestFailed {
  Status status;
  Ledger ledger;  ///< of its oldest unfinished sequence
};

/// The answer to an Explain; the only event under its id.
struct Explained {
  Explanation explanation;
};

/// What happened to a request, in order. After Accepted, each sequence ends exactly once: by its SequenceFinished, or
/// by the one RequestFailed.
struct TokenEvent {
  RequestId request;
  std::variant<Accepted, Refused, PromptScored, TokenSampled, SequenceFinished, RequestFailed, Explained> what;
};

/// Takes a step's events off the loop thread. `deliver` is called on the loop thread: before a step if somebody was
/// taken or refused, and after it. It must not block on a reader.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void deliver(std::vector<TokenEvent> events) = 0;
};

}  // namespace sluice::scheduler
