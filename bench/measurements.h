#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/answer_timer.h"
#include "bench/summary.h"
#include "bench/target.h"

namespace sluice::bench {

/// How one request went.
struct RequestOutcome {
  std::optional<Failure> failure;  ///< none: the answer is whole
  AnswerTiming timing;             ///< from `due`
  TimePoint due;                   ///< the moment the request was meant for
  Duration slip{};                 ///< how long after that moment it was sent
  Duration took{};                 ///< from its sending to its end, whatever that was
};

struct ErrorCount {
  int64_t count = 0;
  std::string example;  ///< the first message
};

/// All requests of a run together. Only whole answers have latencies and tokens: a refused request is an error, never a
/// fast request.
struct Report {
  int64_t requests = 0;  ///< whole answers and errors; not those that were cut off by an interrupt
  int64_t errors = 0;
  int64_t interrupted = 0;
  int64_t short_answers = 0;                         ///< whole, but not as many tokens as asked for
  std::map<std::string, ErrorCount> errors_by_code;  ///< by Failure::kind
  double duration_s = 0;
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  Summary ttft_ms;   ///< one sample per answer
  Summary tpot_ms;   ///< one per answer with two tokens or more
  Summary itl_ms;    ///< one per token but the first of each answer; see AnswerTiming::gaps
  Summary e2e_ms;    ///< one per answer
  Summary slip_ms;   ///< one per request
  Summary error_ms;  ///< one per error: how long after its sending it came

  double output_tokens_per_second() const {
    return duration_s > 0 ? static_cast<double>(output_tokens) / duration_s : 0;
  }
  double total_tokens_per_second() const {
    return duration_s > 0 ? static_cast<double>(prompt_tokens + output_tokens) / duration_s : 0;
  }
};

/// Collects outcomes. Not thread-safe.
class Measurements {
 public:
  /// Without a number of tokens, answers may have any.
  explicit Measurements(std::optional<int32_t> output_tokens_asked) : output_tokens_asked_(output_tokens_asked) {}

  void add(const RequestOutcome& outcome);
  /// A request that our own interrupt cut off.
  void add_interrupted() { ++report_.interrupted; }
  /// Requests that have ended.
  int64_t count() const { return report_.requests; }
  Report report(Duration duration) const;

 private:
  void add_answer(const RequestOutcome& outcome);
  void add_error(const RequestOutcome& outcome);

  const std::optional<int32_t> output_tokens_asked_;
  Report report_;  // the counts; the rest is made of the samples below
  std::vector<double> ttft_ms_;
  std::vector<double> tpot_ms_;
  std::vector<double> itl_ms_;
  std::vector<double> e2e_ms_;
  std::vector<double> slip_ms_;
  std::vector<double> error_ms_;
};

}  // namespace sluice::bench
