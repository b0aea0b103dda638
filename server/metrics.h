#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "scheduler/loop_stats.h"
#include "scheduler/token_event.h"

namespace sluice::server {

/// How a request ended, for the `outcome` label.
enum class Outcome {
  kStop,       ///< every sequence ended by itself, at least one of them by an end token, a stop token or a stop string
  kLength,     ///< every sequence ran into its length limit
  kCancelled,  ///< by the client
  kDeadline,   ///< its deadline passed
  kError,      ///< failed after it was accepted
  kRefused,    ///< not accepted, for want of room
  kInvalid,    ///< not accepted, as it was no valid request
};
std::string_view outcome_name(Outcome outcome);

/// The daemon's Prometheus metrics. Thread-safe; never called on the loop thread. Gauges and loop counters are read
/// from LoopStats at scrape time, so they are right also when idle.
class Metrics {
 public:
  /// The stats are lent. `model` and `device` become labels of sluice_build_info.
  Metrics(const scheduler::LoopStats& stats, std::string_view version, std::string_view model, std::string_view device);
  ~Metrics();

  /// The first token of a request, over all its sequences, went out: time to first token, from arrival. Once per
  /// request.
  void observe_first_token(Duration ttft);
  /// A gap between two tokens of one sequence.
  void observe_token_gap(Duration gap);
  /// A sequence ended, however it did: observes its TPOT, (last - first) / (tokens - 1), if it has two or more tokens.
  void observe_sequence(const scheduler::Ledger& ledger);
  /// An accepted request ended: where its time went, from admission on; `delivery` is what its reader and connection
  /// took.
  void observe_ledger(const scheduler::Ledger& ledger, Duration delivery);
  /// A request ended; once per request, whatever its outcome. Tokens and queue time (arrival to admission, or to the
  /// end of a request that was never admitted) count unless it was refused or invalid; end-to-end is observed for stop
  /// and length only.
  void observe_request(Outcome outcome, int64_t prompt_tokens, int64_t output_tokens, Duration queue,
                       Duration end_to_end);

  /// The text exposition (version 0.0.4) of everything. Never contains NaN; times are in seconds.
  std::string scrape() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace sluice::server
