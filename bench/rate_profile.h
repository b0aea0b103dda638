#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace sluice::bench {

/// Arrivals per second over time: one piece after the other, each with a rate that is constant or changes linearly.
class RateProfile {
 public:
  struct Piece {
    double begin = 0;    ///< arrivals per second
    double end = 0;      ///< the same
    double seconds = 0;  ///< how long; infinite for a rate that never ends
  };

  static RateProfile constant(double rate);
  /// Both rates at least 0 and one above; `seconds` > 0.
  static RateProfile ramp(double begin, double end, double seconds);
  static RateProfile of(std::vector<Piece> pieces) { return RateProfile(std::move(pieces)); }

  /// When that many arrivals are due on average: the t at which the integral of the rate from 0 to t is `arrivals`.
  /// Nothing when it never is. A point process of rate 1 taken through this has the profile's rate (time rescaling).
  std::optional<double> seconds_at(double arrivals) const;
  /// Infinite for a constant rate.
  double seconds() const;
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  explicit RateProfile(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  std::vector<Piece> pieces_;
};

/// "A..B", as of --ramp: rates in requests per second; the two ends of RateProfile::ramp().
Result<RateProfile::Piece> parse_ramp(const std::string& text);
/// "R:T,R:T…", as of --steps: rates in requests per second, and times with their unit, such as 2:30s,8:500ms.
Result<std::vector<RateProfile::Piece>> parse_steps(const std::string& text);

}  // namespace sluice::bench
