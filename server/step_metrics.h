#pragma once

#include <vector>

#include <prometheus/metric_family.h>

#include "engine/machine_limits.h"
#include "scheduler/step_stats.h"

namespace sluice::server {

/// What the steps were like: rows, tokens, seconds by kind, how well they were predicted, and what share they got of
/// what the machine gives (MBU, MFU).
std::vector<prometheus::MetricFamily> step_metrics(const scheduler::StepStats& stats,
                                                   const engine::MachineLimits& limits);

}  // namespace sluice::server
