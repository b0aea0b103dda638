#pragma once

#include <vector>

#include <prometheus/metric_family.h>

#include "base/clock.h"
#include "scheduler/loop_stats.h"

namespace sluice::server {

/// What the serving loop says about itself, as metric families: gauges of now, and counters since start. `now` is of
/// the loop's clock.
std::vector<prometheus::MetricFamily> loop_metrics(const scheduler::LoopStats& stats, TimePoint now);

}  // namespace sluice::server
