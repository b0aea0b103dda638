#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace sluice::bench {

/// A number with its unit, "300ms", "0.5s", "2m" or "40us": above 0 and at most a week.
Result<Duration> parse_time(std::string_view text);

}  // namespace sluice::bench
