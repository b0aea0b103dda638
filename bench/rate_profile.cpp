#include "bench/rate_profile.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"
#include "base/parse_number.h"
#include "bench/parse_time.h"

namespace sluice::bench {
namespace {

constexpr double kRateMax = 1e6;

bool is_rate(const std::optional<double>& rate) {
  return rate && *rate >= 0 && *rate <= kRateMax;
}

double arrivals_in(const RateProfile::Piece& piece) {
  return (piece.begin + piece.end) / 2 * piece.seconds;
}

/// The t with begin*t + slope*t^2/2 = arrivals, in the form that loses no digits when the slope is small.
double seconds_into(const RateProfile::Piece& piece, double arrivals) {
  const double slope = std::isinf(piece.seconds) ? 0 : (piece.end - piece.begin) / piece.seconds;
  const double root = std::sqrt(std::max(0.0, piece.begin * piece.begin + 2 * slope * arrivals));
  return arrivals == 0 ? 0 : 2 * arrivals / (piece.begin + root);
}

}  // namespace

RateProfile RateProfile::constant(double rate) {
  SLUICE_CHECK(rate > 0);
  return RateProfile({{.begin = rate, .end = rate, .seconds = std::numeric_limits<double>::infinity()}});
}

RateProfile RateProfile::ramp(double begin, double end, double seconds) {
  SLUICE_CHECK(begin >= 0 && end >= 0 && begin + end > 0 && seconds > 0);
  return RateProfile({{.begin = begin, .end = end, .seconds = seconds}});
}

std::optional<double> RateProfile::seconds_at(double arrivals) const {
  double seconds = 0;
  for (const Piece& piece : pieces_) {
    const double in_piece = arrivals_in(piece);
    if (arrivals <= in_piece) return seconds + seconds_into(piece, arrivals);
    arrivals -= in_piece;
    seconds += piece.seconds;
  }
  return std::nullopt;
}

double RateProfile::seconds() const {
  double seconds = 0;
  for (const Piece& piece : pieces_) seconds += piece.seconds;
  return seconds;
}

Result<RateProfile::Piece> parse_ramp(const std::string& text) {
  const std::string_view view = text;
  const size_t dots = view.find("..");
  if (dots != std::string_view::npos) {
    const auto begin = parse_number<double>(view.substr(0, dots));
    const auto end = parse_number<double>(view.substr(dots + 2));
    if (is_rate(begin) && is_rate(end) && *begin + *end > 0) {
      return RateProfile::Piece{.begin = *begin, .end = *end, .seconds = 0};
    }
  }
  return invalid_argument("'" + text + "' is not A..B with two rates of 0 to 1000000, one of them above 0");
}

Result<std::vector<RateProfile::Piece>> parse_steps(const std::string& text) {
  std::vector<RateProfile::Piece> pieces;
  double rates = 0;
  for (std::string_view rest = text; true;) {
    const size_t comma = rest.find(',');
    const std::string_view step = rest.substr(0, comma);
    const size_t colon = step.find(':');
    const auto rate = parse_number<double>(step.substr(0, colon));
    if (colon == std::string_view::npos || !is_rate(rate)) {
      return invalid_argument("'" + std::string(step) +
                              "' is not RATE:TIME, such as 2:30s, with a rate of 0 to 1000000");
    }
    SLUICE_ASSIGN_OR_RETURN(const Duration time, parse_time(step.substr(colon + 1)));
    pieces.push_back({.begin = *rate, .end = *rate, .seconds = to_seconds(time)});
    rates += *rate;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (rates == 0) return invalid_argument("one of the steps must have a rate above 0");
  return pieces;
}

}  // namespace sluice::bench
