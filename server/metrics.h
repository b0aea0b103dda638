#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "scheduler/loop_stats.h"
#include "scheduler/token_event.h"

namespace sluice::server {

/// How a request ended, for the `outcome` label.
enum class Outcome { kStop, kLength, kCancelled, kDeadline, kError, kRefused, kInvalid };
std::string_view outcome_name(Outcome outcome);

/// The daemon's Prometheus metrics. Thread-safe; never called on the loop thread. Gauges and loop counters are read from LoopStats at scrape time, so they are right
/// also when idle.
class Metrics {
 public:
  /// The stats are lent. `model` and `device` become labels of sluice_build_info.
  Metrics(const scheduler::LoopStats& stats, std::string_view version, std::string_view model, std::string_view device);
  ~Metrics();

  /// A request's first token went out of the engine: time to first token from arrival, and its queue time.
  void observe_first_token(Duration ttft);
  /// A gap between two tokens of one sequence.
  void observe_token_gap(Duration gap);
  /// A sequence ended; TPOT is observed only with two or more tokens, and never for a cancelled or failed one with fewer.
  void observe_sequence(const scheduler::Ledger& ledger);
  /// A request ended (once per request). `prompt_tokens` and `output_tokens` feed the counters; end-to-end is observed for stop and length only.
  void observe_request(Outcome outcome, int64_t prompt_tokens, int64_t output_tokens, Duration queue, Duration end_to_end);

  /// The text exposition of everything. Never contains NaN.
  std::string scrape() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace sluice::server
