#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

/// One request, whichever way its server speaks.
struct Ask {
  using Tokens = std::vector<int32_t>;
  using Text = std::string;
  using Chat = std::vector<ChatMessage>;

  using Prompt = std::variant<Tokens, Text, Chat>;

  Prompt prompt;
  int32_t output_tokens = 1;  ///< at most
  bool ignores_end_tokens = true;
  std::vector<int32_t> stop_token_ids;
  float temperature = 0;
  std::string tenant;
  bool keeps_ids = false;  ///< the answer's token ids are wanted too, where there are any
};

/// What came of an answer at one moment.
struct Piece {
  int32_t tokens = 1;  ///< a piece of text of an unknown number of tokens counts as 1
  std::string_view text;
  std::vector<int32_t> ids;  ///< only if they were asked for
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
  /// Something of the answer came: a token or more, or some text.
  virtual void on_piece(const Piece& piece) = 0;
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

/// What prompts are made of.
enum class PromptForm {
  kTokens,  ///< ids below ServedModel::vocab_size
  kText,
  kChat,
};

/// A server under load, reached by one way of speaking with it. Outlives its calls.
class Target {
 public:
  virtual ~Target() = default;
  virtual const ServedModel& model() const = 0;
  /// How it takes synthetic prompts.
  virtual PromptForm prompt_form() const = 0;
  /// Whether one thread reads all its answers: then one core is all that they can use.
  virtual bool is_read_by_one_thread() const = 0;
  /// The sink is lent, and lives until the call's end.
  virtual std::unique_ptr<Call> make_call(Ask ask, AnswerSink& sink) = 0;
};

}  // namespace sluice::bench
