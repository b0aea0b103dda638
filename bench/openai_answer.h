#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bench/sse_reader.h"
#include "bench/target.h"

namespace sluice::bench {

/// Reads one streamed answer in OpenAI's form, of completions or chat completions, and tells a sink of it. Each
/// piece of text is a Piece; the chunk that only names the role, or any other with empty text, isn't. Ends the
/// answer at "[DONE]". Each way of not being whole has its kind:
///
/// HTTP_n a status other than 200 · NOT_A_STREAM 200, but no event stream · BAD_STREAM an event that isn't JSON, or no
/// event · ERROR_EVENT an event with an error · NO_DONE the body ended before "[DONE]" · CLOSED_EARLY the connection
/// did · EMPTY_ANSWER "[DONE]" without text and without a reason to finish · CANNOT_CONNECT · BAD_HTTP · CANCELLED
///
/// Not thread-safe; the sink is lent until it has been told the end.
class OpenAiAnswer {
 public:
  explicit OpenAiAnswer(AnswerSink& sink);
  OpenAiAnswer(const OpenAiAnswer&) = delete;
  OpenAiAnswer& operator=(const OpenAiAnswer&) = delete;

  void on_head(int status, std::string_view content_type);
  void on_body(std::string_view piece);
  /// The body came to its end.
  void on_body_end();
  /// It never will.
  void fail(const std::string& kind, const Status& status);

 private:
  void on_data(std::string_view data);
  void read_chunk(std::string_view data);
  void end(std::optional<Failure> failure);

  AnswerSink* sink_;  // null once it has been told the end
  SseReader reader_;
  int status_ = 0;
  bool is_stream_ = false;
  std::string refusal_;  // the body of what is no stream, cut off
  bool has_text_ = false;
  bool has_finish_reason_ = false;
};

}  // namespace sluice::bench
