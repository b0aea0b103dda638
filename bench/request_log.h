#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "bench/measurements.h"
#include "bench/slo.h"

namespace sluice::bench {

/// A CSV file with a row per measured request, in the order of their ends. Columns, empty where there is nothing to
/// tell:
///
/// conversation, turn  which request: numbers from 0
/// due_s               when it was meant to be sent, from the beginning of the measurement
/// slip_ms             how much later it was sent
/// ttft_ms, tpot_ms, itl_max_ms, e2e_ms  from the moment it was meant for; of whole answers only
/// prompt_tokens, output_tokens          of whole answers
/// counted_by          "usage", or "pieces" when the server told no usage
/// slo                 "met" or "missed", if there is one
/// error               the kind of failure; empty: the answer is whole
/// message             what was said of it, in quotes
class RequestLog {
 public:
  /// No file for an empty path. FAILED_PRECONDITION when it can't be written.
  Status open(const std::string& path, const Slo& slo);
  /// What due_s is counted from.
  void begin(TimePoint start) { start_ = start; }
  void add(const RequestOutcome& outcome);
  /// UNAVAILABLE if something could not be written.
  Status close();

 private:
  std::ofstream file_;
  std::string path_;
  Slo slo_;
  TimePoint start_{};
};

}  // namespace sluice::bench
