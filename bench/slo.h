#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "bench/answer_timer.h"

namespace sluice::bench {

/// What an answer must keep to be good. What isn't given is not asked.
struct Slo {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> itl;  ///< the longest gap
  std::optional<Duration> e2e;

  bool is_empty() const { return !ttft && !tpot && !itl && !e2e; }
  /// Of a whole answer. One that has no TTFT keeps it not; one that has no TPOT or no gap, as it came at once, does.
  bool is_met_by(const AnswerTiming& timing) const;
  /// As parse_slo() reads it.
  std::string text() const;
};

/// "ttft=300ms,tpot=50ms", of ttft, tpot, itl and e2e, at least one and each once, with the unit.
Result<Slo> parse_slo(const std::string& text);

}  // namespace sluice::bench
