#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::client {

/// A streamed answer in time, as its reader saw it.
struct StreamTiming {
  /// Start to the first event that carries a token, of whichever choice; none when no token came.
  std::optional<Duration> ttft;
  /// (last - first) / (tokens - 1) of choice 0; none with fewer than two tokens.
  std::optional<Duration> tpot;
  /// Start to the last event.
  Duration end_to_end{};
  /// Time between the tokens of choice 0, [tokens - 1]. Tokens of one event came together: an event with k tokens adds
  /// the gap to the event before it once and k - 1 gaps of zero, so the gaps' sum is last - first.
  std::vector<Duration> gaps;
  /// Over all choices; the usage's figure where there is one, or else the tokens counted.
  int32_t completion_tokens = 0;
};

/// Times the events of one stream by a given clock. With one choice TPOT divides by the usage's token count, which is
/// the server's own; with several, whose usage is a sum, by the tokens of choice 0 counted. Not thread-safe; the clock
/// is lent.
class StreamStopwatch {
 public:
  /// `start` is when the reader wanted the answer, perhaps before the request could be sent.
  StreamStopwatch(const Clock& clock, TimePoint start) : clock_(clock), start_(start), end_(start) {}

  void observe(const v1::CompleteEvent& event);
  StreamTiming timing() const;

 private:
  void observe_tokens(const v1::Tokens& tokens, TimePoint now);
  int32_t tokens_of_first_choice() const;

  const Clock& clock_;
  TimePoint start_;
  TimePoint end_;
  std::optional<TimePoint> first_token_;         // of any choice
  std::optional<TimePoint> first_choice_begin_;  // choice 0 only
  TimePoint first_choice_end_{};
  int32_t tokens_counted_ = 0;
  bool has_other_choices_ = false;
  std::optional<int32_t> usage_tokens_;
  std::vector<Duration> gaps_;
};

}  // namespace sluice::client
