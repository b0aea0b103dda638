#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine {

/// How angles are stretched so that contexts longer than the trained ones come out.
enum class RopeScaling {
  kNone,
  kLinear,   ///< all positions divided by `factor` (Chen et al. 2023, "Position Interpolation")
  kLlama3,   ///< low frequencies divided by `factor`, high ones kept, the ones between blended
  kYarn,     ///< the same with a ramp over dimensions (Peng et al. 2023, "YaRN")
  kDivisors  ///< each frequency divided by its own number, as GGUF files of Llama 3 have it
};

/// Rotary angles of a model as its files describe them.
struct RopeConfig {
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;               ///< kLinear, kLlama3, kYarn; > 0
  int32_t original_context = 0;      ///< kLlama3, kYarn: tokens the unscaled angles were trained for; > 0
  double low_frequency_factor = 1;   ///< kLlama3
  double high_frequency_factor = 4;  ///< kLlama3; above the low one
  double beta_fast = 32;             ///< kYarn: rotations over the original context from which on nothing is stretched
  double beta_slow = 1;              ///< kYarn: rotations up to which everything is
  bool is_ramp_whole = true;         ///< kYarn: the ramp begins and ends at whole dimensions
  double magnitude = 1.0;            ///< what cosines and sines are multiplied with; kYarn: see yarn_magnitude()
  std::vector<float> divisors{};     // [dim / 2], kDivisors
};

/// What YaRN multiplies queries and keys with where the files don't say: 0.1 ln(factor) + 1.
double yarn_magnitude(double factor);

/// Radians per position of each pair of a head's `dim` turning elements, slowest last: base^(-2i / dim), scaled.
/// [dim / 2]; `dim` is even, and kDivisors has dim / 2 of them.
std::vector<double> rope_frequencies(const RopeConfig& config, int32_t dim);

}  // namespace sluice::engine
