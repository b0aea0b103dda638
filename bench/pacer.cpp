#include "bench/pacer.h"

#include <cmath>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"
#include "bench/counter_engine.h"

namespace sluice::bench {

std::optional<TimePoint> ClosedLoop::next_due(int32_t in_flight) const {
  if (in_flight >= concurrency_) return std::nullopt;
  return begun_ < concurrency_ || freed_.empty() ? start_ : freed_.front();
}

void ClosedLoop::advance() {
  if (begun_ < concurrency_) {
    ++begun_;
  } else if (!freed_.empty()) {
    freed_.pop();
  }
}

OpenLoop::OpenLoop(RateProfile profile, Regularity regularity, uint64_t seed, TimePoint start, int32_t in_flight_max)
    : profile_(std::move(profile)), regularity_(regularity), seed_(seed), start_(start), in_flight_max_(in_flight_max) {
  advance();
}

std::optional<TimePoint> OpenLoop::next_due(int32_t in_flight) const {
  return in_flight >= in_flight_max_ ? std::nullopt : due_;
}

void OpenLoop::advance() {
  arrivals_expected_ += gap();
  ++arrival_;
  const std::optional<double> seconds = profile_.seconds_at(arrivals_expected_);
  due_ = seconds ? std::optional(start_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds)))
                 : std::nullopt;
}

double OpenLoop::gap() const {
  if (regularity_.is_constant) return 1;
  if (regularity_.burstiness == 1) return -std::log1p(-random_unit(seed_, arrival_));
  CounterEngine engine(seed_, arrival_);
  return std::gamma_distribution<double>(regularity_.burstiness, 1 / regularity_.burstiness)(engine);
}

GivenTimes::GivenTimes(std::vector<Duration> times, TimePoint start, int32_t in_flight_max)
    : times_(std::move(times)), start_(start), in_flight_max_(in_flight_max) {}

std::optional<TimePoint> GivenTimes::next_due(int32_t in_flight) const {
  if (in_flight >= in_flight_max_ || next_ >= times_.size()) return std::nullopt;
  return start_ + times_[next_];
}

}  // namespace sluice::bench
