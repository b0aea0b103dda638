#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "bench/answer_timer.h"
#include "bench/latency_histogram.h"
#include "bench/slo.h"
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
  uint64_t conversation = 0;
  int32_t turn = 0;                            ///< of its conversation
  std::optional<int32_t> output_tokens_asked;  ///< none: the answer may have any number
};

struct ErrorCount {
  int64_t count = 0;
  std::string example;  ///< the first message
};

/// How many requests kept the SLO. Failures didn't.
struct Goodput {
  int64_t met = 0;
  double share = 0;  ///< of all requests; 0 when there are none
  double requests_per_second = 0;
  double output_tokens_per_second = 0;  ///< of their answers
};

/// Whether the client itself kept up. If it didn't, latencies are partly its own.
struct ClientLoad {
  double slip_p99_ms = 0;
  double cpu_share = 0;         ///< of the processor time that the client could have used
  std::string limited_because;  ///< not empty: the client was the limit
};

/// All requests of a run together. Only whole answers have latencies and tokens: a refused request is an error, never a
/// fast request.
struct Report {
  int64_t requests = 0;  ///< whole answers and errors; not those that were cut off by an interrupt
  int64_t errors = 0;
  int64_t interrupted = 0;
  int64_t short_answers = 0;                         ///< whole, but not as many tokens as asked for
  int64_t uncounted_answers = 0;                     ///< whole, but without usage: their pieces were counted as tokens
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
  // What the summaries above are of.
  LatencyHistogram ttft;
  LatencyHistogram tpot;
  LatencyHistogram itl;
  LatencyHistogram e2e;
  LatencyHistogram ttft_from_send;  ///< not from the intended moment: what a server can know
  std::optional<Goodput> goodput;   ///< if there is an SLO
  ClientLoad client;

  double output_tokens_per_second() const {
    return duration_s > 0 ? static_cast<double>(output_tokens) / duration_s : 0;
  }
  double total_tokens_per_second() const {
    return duration_s > 0 ? static_cast<double>(prompt_tokens + output_tokens) / duration_s : 0;
  }
  double requests_per_second() const {
    return duration_s > 0 ? static_cast<double>(requests - errors) / duration_s : 0;
  }
};

/// Collects outcomes. Not thread-safe.
class Measurements {
 public:
  /// The SLO may be empty.
  explicit Measurements(const Slo& slo) : slo_(slo) {}

  void add(const RequestOutcome& outcome);
  /// A request that our own interrupt cut off.
  void add_interrupted() { ++report_.interrupted; }
  /// Requests that have ended.
  int64_t count() const { return report_.requests; }
  /// What there is after that long. Knows nothing of the client's processor.
  Report report(Duration duration) const;

 private:
  void add_answer(const RequestOutcome& outcome);
  void add_error(const RequestOutcome& outcome);

  const Slo slo_;
  Report report_;  // counts and histograms
  LatencyHistogram slip_;
  LatencyHistogram error_;
  int64_t met_ = 0;
  int64_t met_tokens_ = 0;
};

}  // namespace sluice::bench
