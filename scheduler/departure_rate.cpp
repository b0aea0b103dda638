#include "scheduler/departure_rate.h"

#include <algorithm>
#include <cmath>

namespace sluice::scheduler {
namespace {

constexpr double kNewestWeight = 1.0 / 8;
constexpr double kRetryAfterMaxMs = 60'000;

}  // namespace

void DepartureRate::note(TimePoint now) {
  const double interval_ms = to_milliseconds(now - last_);
  mean_ms_ = is_measured_ ? mean_ms_ + kNewestWeight * (interval_ms - mean_ms_) : interval_ms;
  is_measured_ = true;
  last_ = now;
}

int64_t DepartureRate::retry_after_ms(int64_t places) const {
  const double wait_ms = std::ceil(mean_ms_ * static_cast<double>(places));
  return static_cast<int64_t>(std::clamp(wait_ms, 1.0, kRetryAfterMaxMs));
}

}  // namespace sluice::scheduler
