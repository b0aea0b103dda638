#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace sluice::bench {

/// What a server says that it serves. What it doesn't say is empty.
struct ServedModel {
  std::string name;
  std::string device;
  std::string version;
  std::optional<int32_t> context_length;  ///< tokens of prompt and answer together
  int32_t vocab_size = 0;                 ///< 0: prompts can't be given as token ids
  std::vector<int32_t> special_ids;       ///< what ordinary prompts don't hold: the token that begins or ends a text
};

struct ChatMessage {
  std::string role;
  std::string content;
};

/// One request, whichever way its server speaks.
struct Ask {
  using Tokens = std::vector<int32_t>;
  using Text = std::string;
  using Chat = std::vector<ChatMessage>;

  std::variant<Tokens, Text, Chat> prompt;
  int32_t output_tokens = 1;  ///< exactly, as end tokens are ignored; with stop tokens, at most
  std::vector<int32_t> stop_token_ids;
  float temperature = 0;
  std::string tenant;
};

/// Why there is no whole answer: a status for people, and a kind to count by, such as "RESOURCE_EXHAUSTED", "HTTP_429"
/// or "CLOSED_EARLY".
struct Failure {
  Status status;  ///< not OK
  std::string kind;
};

/// What a call tells of its answer, in this order. One call's methods are called one at a time, on the target's
/// threads.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  /// Something of the answer came: `tokens` is how many, or 1 for a piece of text of an unknown number of them.
  virtual void on_tokens(int32_t tokens, std::string_view text) = 0;
  /// What the server counted.
  virtual void on_usage(int32_t prompt_tokens, int32_t completion_tokens) = 0;
  /// Once, last: nothing when the answer is whole. The call may be destroyed as soon as this has been called.
  virtual void on_end(std::optional<Failure> failure) = 0;
};

/// One request on its way. Destroyed only before start() or after on_end().
class Call {
 public:
  virtual ~Call() = default;
  /// Sends it, once. The sink may be called before this returns, on another thread.
  virtual void start() = 0;
  /// Any thread. The end then comes as kCancelled, unless it was there before.
  virtual void cancel() = 0;
};

/// A server under load, reached by one way of speaking with it. Outlives its calls.
class Target {
 public:
  virtual ~Target() = default;
  virtual const ServedModel& model() const = 0;
  /// The sink is lent, and lives until the call's end.
  virtual std::unique_ptr<Call> make_call(Ask ask, AnswerSink& sink) = 0;
};

}  // namespace sluice::bench
