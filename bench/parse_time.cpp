#include "bench/parse_time.h"

#include <array>
#include <string>
#include <utility>

#include "base/parse_number.h"

namespace sluice::bench {
namespace {

constexpr double kSecondsMax = 7 * 24 * 3600;
// "s" comes last, as the others end in it too.
constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{{{"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"s", 1}}};

}  // namespace

Result<Duration> parse_time(std::string_view text) {
  for (const auto& [unit, seconds_each] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = parse_number<double>(text.substr(0, text.size() - unit.size()));
    if (!number) break;
    const double seconds = *number * seconds_each;
    if (seconds <= 0 || seconds > kSecondsMax) break;
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  return invalid_argument("'" + std::string(text) + "' is no time above 0 with its unit, such as 300ms, 1.5s or 2m");
}

}  // namespace sluice::bench
