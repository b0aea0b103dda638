#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::server {

struct MetricsSection;

/// Upper bounds of histogram buckets, ascending. The defaults hold every bound that vLLM and OpenTelemetry have for the
/// same quantity, so that quantiles stay comparable, and finer ones at the low end, where a small model lives.
struct MetricBounds {
  using Bounds = std::vector<double>;

  // Seconds.
  Bounds time_to_first_token{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                             1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
  Bounds time_per_output_token{0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025,
                               0.04,  0.05,  0.075, 0.1,   0.15,  0.2,   0.3,  0.4,   0.5,  0.75,
                               1,     2.5,   5,     7.5,   10,    20,    40,   80};
  Bounds inter_token_latency = time_per_output_token;
  Bounds queue{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1,   1.5,  2,   2.5,
               5,     10,     15,    20,   30,    40,   50,  60,  120, 240, 480, 960, 1920, 7680};
  Bounds prefill = queue;
  Bounds decode = queue;
  Bounds end_to_end{0.001, 0.0025, 0.005, 0.01,  0.02, 0.04, 0.08,  0.1, 0.16, 0.3, 0.32,  0.5,  0.64,
                    0.8,   1,      1.28,  1.5,   2,    2.5,  2.56,  5,   5.12, 10,  10.24, 15,   20,
                    20.48, 30,     40,    40.96, 50,   60,   81.92, 120, 240,  480, 960,   1920, 7680};
  Bounds tokens{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000};
};

/// The defaults, with those lists that the section gives instead.
Result<MetricBounds> metric_bounds(const MetricsSection& section);

/// Numbers from 0.000001, each at least 1.0001 times the one before, 1 to 64 of them, with commas between. The error's
/// field is `key`.
Result<MetricBounds::Bounds> parse_bounds(std::string_view key, std::string_view text);

}  // namespace sluice::server
