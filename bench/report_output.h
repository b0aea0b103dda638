#pragma once

#include <ostream>
#include <string>

#include "bench/measurements.h"
#include "bench/run_config.h"
#include "bench/target.h"

namespace sluice::bench {

/// A table for people.
void print_report(std::ostream& out, const RunConfig& config, const ServedModel& model, const Report& report);

/// One JSON object. Latencies are objects of `p50`, `p90`, `p99`, `mean` and `max`, null where there was nothing to
/// measure.
std::string report_to_json(const RunConfig& config, const std::string& address, const ServedModel& model,
                           const Report& report);

}  // namespace sluice::bench
