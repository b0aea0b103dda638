#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace sluice::bench {

/// Says when the next request should be sent. Pure: time and chance are given.
class Pacer {
 public:
  virtual ~Pacer() = default;
  /// The moment the next request is meant for, perhaps already past; nothing when one in flight must end first.
  virtual std::optional<TimePoint> next_due(TimePoint now, int32_t in_flight) const = 0;
  /// That request has been sent.
  virtual void advance() = 0;
};

/// Keeps a number of requests in flight: the next is meant for the moment there is room.
class ClosedLoop final : public Pacer {
 public:
  explicit ClosedLoop(int32_t concurrency) : concurrency_(concurrency) {}
  std::optional<TimePoint> next_due(TimePoint now, int32_t in_flight) const override;
  void advance() override {}

 private:
  int32_t concurrency_;
};

/// A Poisson process: gaps are exponential, -ln(1 - u) / rate, and do not wait for answers. The same seed gives the
/// same arrivals.
class PoissonArrivals final : public Pacer {
 public:
  /// `rate` > 0, arrivals per second. The first comes one gap after `start`. Beyond `in_flight_max` an arrival keeps
  /// its time and waits.
  PoissonArrivals(double rate, uint64_t seed, TimePoint start, int32_t in_flight_max);
  std::optional<TimePoint> next_due(TimePoint now, int32_t in_flight) const override;
  void advance() override;

 private:
  double rate_;
  uint64_t seed_;
  TimePoint start_;
  int32_t in_flight_max_;
  uint64_t arrival_ = 0;
  double offset_seconds_ = 0;
};

}  // namespace sluice::bench
