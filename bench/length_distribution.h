#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sluice::bench {

/// How many tokens something has. What is drawn outside of 1 … `max` becomes the nearest of those.
struct LengthDistribution {
  enum class Kind { kUniform, kNormal, kLognormal };

  Kind kind = Kind::kUniform;
  int32_t min = 1;    ///< uniform: the least
  int32_t max = 1;    ///< uniform: the most; else the cap
  double middle = 0;  ///< normal: mean; lognormal: median
  double spread = 0;  ///< normal: standard deviation; lognormal: that of the natural logarithm

  static LengthDistribution fixed(int32_t tokens) { return uniform(tokens, tokens); }
  static LengthDistribution uniform(int32_t min, int32_t max) {
    return {.kind = Kind::kUniform, .min = min, .max = max};
  }

  bool is_fixed() const { return kind == Kind::kUniform && min == max; }
  /// A pure function of seed and index.
  int32_t draw(uint64_t seed, uint64_t index) const;
  /// As parse_length() reads it.
  std::string text() const;
};

/// "N", "A..B" (uniform), "normal:MEAN,SD[,MAX]", "lognormal:MEDIAN,SIGMA[,MAX]" where sigma is that of the logarithm.
/// Without MAX the cap is three of these deviations above the middle. At least 1 token, at most 2^20.
Result<LengthDistribution> parse_length(const std::string& text);

}  // namespace sluice::bench
