#pragma once

#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "scheduler/loop_stats.h"
#include "server/metrics.h"

namespace sluice::server {

/// Metrics of a loop whose stats the test sets, and what a scrape says.
struct ScrapedMetrics {
  explicit ScrapedMetrics(MetricsSetup setup = {.version = "1.2.3", .model = "tiny", .device = "cpu"})
      : metrics(stats, clock, std::move(setup)) {}

  scheduler::LoopStats stats;
  ManualClock clock;
  Metrics metrics;

  /// Value by "name{labels}".
  std::map<std::string, double> scrape() const {
    std::map<std::string, double> values;
    std::istringstream text(metrics.scrape());
    for (std::string line; std::getline(text, line);) {
      if (line.empty() || line[0] == '#') continue;
      const size_t space = line.rfind(' ');
      EXPECT_TRUE(values.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << line;
    }
    return values;
  }
  double value(const std::string& series) const {
    const auto values = scrape();
    const auto found = values.find(series);
    if (found != values.end()) return found->second;
    ADD_FAILURE() << "no series " << series;
    return -1;
  }
};

}  // namespace sluice::server
