#pragma once

#include <string>

#include "bench/slo.h"
#include "bench/tuner.h"

namespace sluice::bench {

/// What a tune was about, for its reports.
struct TuneSubject {
  Slo slo;
  std::string load;  ///< what was sent, in words
  std::string command_line;
  std::string server;   ///< model, device and version
  LimitSetting before;  ///< the daemon's own limits
  double budget_s = 0;
  bool was_applied = false;  ///< the best is set now, else `before` is
  bool was_interrupted = false;
  std::string limits_failure = {};  ///< not empty: why they could not be put back, and what to run
};

/// What to put into the daemon's configuration.
std::string tune_yaml(const LimitSetting& best);

/// The verdict, the knee and what lies past it, the YAML: for people.
std::string tune_text(const TuneSubject& subject, const TuneOutcome& outcome);
std::string tune_json(const TuneSubject& subject, const TuneOutcome& outcome);
std::string tune_html(const TuneSubject& subject, const TuneOutcome& outcome);

}  // namespace sluice::bench
