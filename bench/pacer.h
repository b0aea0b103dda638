#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "base/clock.h"
#include "bench/rate_profile.h"

namespace sluice::bench {

/// Says when the next request should be sent. Pure: time and chance are given.
class Pacer {
 public:
  virtual ~Pacer() = default;
  /// The moment the next request is meant for, perhaps already past; nothing when one in flight must end first, or when
  /// no more will come.
  virtual std::optional<TimePoint> next_due(int32_t in_flight) const = 0;
  /// That request has been sent.
  virtual void advance() = 0;
  /// One that was in flight ended at that moment.
  virtual void ended(TimePoint /*at*/) {}
};

/// Keeps a number of requests in flight: each is meant for the moment at which the one it replaces ended.
class ClosedLoop final : public Pacer {
 public:
  ClosedLoop(int32_t concurrency, TimePoint start) : concurrency_(concurrency), start_(start) {}
  std::optional<TimePoint> next_due(int32_t in_flight) const override;
  void advance() override;
  void ended(TimePoint at) override { freed_.push(at); }

 private:
  int32_t concurrency_;
  TimePoint start_;
  int32_t begun_ = 0;  // up to the concurrency, which is how many begin at the start
  std::queue<TimePoint> freed_;
};

/// How regular arrivals are: the gaps of an open loop at a rate of one are drawn from a gamma distribution with this
/// shape and a mean of 1.
struct Regularity {
  /// 1: Poisson, gaps are exponential. Below 1: burstier, above: more regular; as vLLM's benchmark has it.
  double burstiness = 1;
  bool is_constant = false;  ///< every gap is 1
};

/// Arrivals that do not wait for answers. The same seed gives the same arrivals. Beyond `in_flight_max` an arrival
/// keeps its time and waits.
class OpenLoop final : public Pacer {
 public:
  OpenLoop(RateProfile profile, Regularity regularity, uint64_t seed, TimePoint start, int32_t in_flight_max);
  std::optional<TimePoint> next_due(int32_t in_flight) const override;
  void advance() override;

 private:
  double gap() const;

  RateProfile profile_;
  Regularity regularity_;
  uint64_t seed_;
  TimePoint start_;
  int32_t in_flight_max_;
  uint64_t arrival_ = 0;
  double arrivals_expected_ = 0;  // the time of the next, in arrivals
  std::optional<TimePoint> due_;
};

/// Arrivals at given times after the start, in their order; otherwise as OpenLoop.
class GivenTimes final : public Pacer {
 public:
  GivenTimes(std::vector<Duration> times, TimePoint start, int32_t in_flight_max);
  std::optional<TimePoint> next_due(int32_t in_flight) const override;
  void advance() override { ++next_; }

 private:
  std::vector<Duration> times_;
  TimePoint start_;
  int32_t in_flight_max_;
  size_t next_ = 0;
};

}  // namespace sluice::bench
