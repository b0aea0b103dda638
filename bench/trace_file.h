#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/step_prices.h"
#include "simulation/traced_arrival.h"

namespace sluice::bench {

/// What a daemon wrote with log.trace_path.
struct Trace {
  std::vector<simulation::TracedArrival> arrivals;  ///< in order of arrival, the first at 0
  scheduler::StepPrices prices;                     ///< of the last line that has them
};

/// Reads one JSON object per line. A request that was refused counts with the output it was allowed; one that was
/// invalid is left out. Errors name the file and the line.
Result<Trace> read_trace(const std::string& path);

/// The same from text; `name` stands for the file in errors.
Result<Trace> parse_trace(const std::string& text, const std::string& name);

}  // namespace sluice::bench
