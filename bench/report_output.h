#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "bench/cross_check.h"
#include "bench/measurements.h"
#include "bench/run_config.h"
#include "bench/target.h"

namespace sluice::bench {

/// All there is to tell of one measurement. Lent.
struct Told {
  const RunConfig& load;
  const std::string& address;
  const ServedModel& model;
  const Report& report;
  const std::optional<ServerView>& server;  ///< if its metrics were read
};

/// Whether the load passes its SLO; nothing when there is none, or when the client was the limit, as then nobody knows.
std::optional<bool> verdict(const RunConfig& load, const Report& report);

/// How the load is paced: "closed loop, 8 in flight".
std::string describe_loop(const RunConfig& load);

/// A table for people.
void print_report(std::ostream& out, const Told& told);

/// One JSON object. Latencies are objects of `count`, `p50`, `p90`, `p95`, `p99`, `p999`, `mean` and `max` in
/// milliseconds, null where there was nothing to measure. `goodput` is null without an SLO; `verdict` is "pass", "fail"
/// or null.
std::string report_to_json(const Told& told);

}  // namespace sluice::bench
