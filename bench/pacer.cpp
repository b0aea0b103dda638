#include "bench/pacer.h"

#include <cmath>

#include "base/check.h"
#include "base/counter_random.h"

namespace sluice::bench {

std::optional<TimePoint> ClosedLoop::next_due(TimePoint now, int32_t in_flight) const {
  if (in_flight >= concurrency_) return std::nullopt;
  return now;
}

PoissonArrivals::PoissonArrivals(double rate, uint64_t seed, TimePoint start, int32_t in_flight_max)
    : rate_(rate), seed_(seed), start_(start), in_flight_max_(in_flight_max) {
  SLUICE_CHECK(rate > 0);
  advance();
}

std::optional<TimePoint> PoissonArrivals::next_due(TimePoint, int32_t in_flight) const {
  if (in_flight >= in_flight_max_) return std::nullopt;
  return start_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(offset_seconds_));
}

void PoissonArrivals::advance() {
  offset_seconds_ += -std::log1p(-random_unit(seed_, arrival_++)) / rate_;
}

}  // namespace sluice::bench
