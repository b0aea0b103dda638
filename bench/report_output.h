#pragma once

#include <ostream>
#include <string>

#include "bench/measurements.h"
#include "bench/run_config.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::bench {

/// A table for people.
void print_report(std::ostream& out, const RunConfig& config, const v1::GetModelResponse& model, const Report& report);

/// One JSON object. Latencies are objects of `p50`, `p90`, `p99`, `mean` and `max`, null where there was nothing to
/// measure.
std::string report_to_json(const RunConfig& config, const v1::GetModelResponse& model, const Report& report);

}  // namespace sluice::bench
