#include "engine/rope_config.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace sluice::engine {
namespace {

// Frequencies whose wave is longer than original_context / low_frequency_factor are divided, those whose wave is
// shorter than original_context / high_frequency_factor are kept. Source: "rope_type": "llama3" of Llama 3.1.
double llama3_frequency(const RopeConfig& config, double frequency) {
  const double turns = config.original_context * frequency / (2 * std::numbers::pi);  // over the original context
  if (turns < config.low_frequency_factor) return frequency / config.factor;
  if (turns > config.high_frequency_factor) return frequency;
  const double kept =
      (turns - config.low_frequency_factor) / (config.high_frequency_factor - config.low_frequency_factor);
  return (1 - kept) * frequency / config.factor + kept * frequency;
}

/// The pair of `dim` elements that turns `rotations` times over the original context.
double yarn_pair(const RopeConfig& config, int32_t dim, double rotations) {
  return dim * std::log(config.original_context / (rotations * 2 * std::numbers::pi)) / (2 * std::log(config.base));
}

struct Ramp {
  double begin = 0;
  double end = 0;
};

Ramp yarn_ramp(const RopeConfig& config, int32_t dim) {
  Ramp ramp{yarn_pair(config, dim, config.beta_fast), yarn_pair(config, dim, config.beta_slow)};
  if (config.is_ramp_whole) ramp = {std::floor(ramp.begin), std::ceil(ramp.end)};
  ramp.begin = std::max(ramp.begin, 0.0);
  ramp.end = std::min(ramp.end, dim - 1.0);
  if (ramp.begin == ramp.end) ramp.end += 0.001;  // a step instead of a division by zero
  return ramp;
}

double scaled_frequency(const RopeConfig& config, const Ramp& yarn, size_t pair, double frequency) {
  switch (config.scaling) {
    case RopeScaling::kNone:
      return frequency;
    case RopeScaling::kLinear:
      return frequency / config.factor;
    case RopeScaling::kLlama3:
      return llama3_frequency(config, frequency);
    case RopeScaling::kYarn: {
      const double stretched = std::clamp((static_cast<double>(pair) - yarn.begin) / (yarn.end - yarn.begin), 0.0, 1.0);
      return frequency / config.factor * stretched + frequency * (1 - stretched);
    }
    case RopeScaling::kDivisors:
      return frequency / static_cast<double>(config.divisors[pair]);
  }
  SLUICE_CHECK(false && "a RopeScaling outside the enum");
}

}  // namespace

double yarn_magnitude(double factor) {
  return factor <= 1 ? 1.0 : 0.1 * std::log(factor) + 1.0;
}

std::vector<double> rope_frequencies(const RopeConfig& config, int32_t dim) {
  SLUICE_CHECK(dim >= 0 && dim % 2 == 0);
  const auto pairs = static_cast<size_t>(dim) / 2;
  SLUICE_CHECK(config.scaling != RopeScaling::kDivisors || config.divisors.size() == pairs);
  const Ramp yarn = config.scaling == RopeScaling::kYarn ? yarn_ramp(config, dim) : Ramp{0, 1};
  std::vector<double> frequencies;
  for (size_t pair = 0; pair < pairs; ++pair) {
    const double frequency = std::pow(config.base, -2.0 * static_cast<double>(pair) / dim);
    frequencies.push_back(scaled_frequency(config, yarn, pair, frequency));
  }
  return frequencies;
}

}  // namespace sluice::engine
