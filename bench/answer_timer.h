#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace sluice::bench {

/// A streamed answer in time, as its reader saw it.
struct AnswerTiming {
  /// From the moment the request was meant for to the first token or text; none when none came.
  std::optional<Duration> ttft;
  /// (last - first) / (tokens - 1); none with fewer than two tokens, or when all of them came at once in one piece.
  std::optional<Duration> tpot;
  /// To the last thing that came.
  Duration end_to_end{};
  /// Between what came, in order. A piece with k tokens adds the gap to the piece before it and k - 1 gaps of zero, so
  /// that their sum is last - first.
  std::vector<Duration> gaps;
  int32_t prompt_tokens = 0;      ///< the server's count; 0 when it told none
  int32_t completion_tokens = 0;  ///< the server's count, or else the pieces
  bool has_usage = false;         ///< whether the server counted
};

/// Times one answer by a given clock, which is lent. Not thread-safe.
class AnswerTimer {
 public:
  AnswerTimer(const Clock& clock, TimePoint due) : clock_(clock), due_(due), end_(due) {}

  void observe_tokens(int32_t tokens);
  void observe_usage(int32_t prompt_tokens, int32_t completion_tokens);
  AnswerTiming timing() const;

 private:
  const Clock& clock_;
  const TimePoint due_;
  TimePoint end_;
  std::optional<TimePoint> first_;
  TimePoint last_{};
  int32_t pieces_ = 0;
  int32_t tokens_counted_ = 0;
  std::vector<Duration> gaps_;
  std::optional<int32_t> completion_tokens_;
  int32_t prompt_tokens_ = 0;
};

}  // namespace sluice::bench
