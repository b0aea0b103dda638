#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice::scheduler {

/// How fast requests have been leaving, for telling a refused client when to come back. Idle time does not count.
class DepartureRate {
 public:
  /// Work has come to an idle scheduler.
  void begin(TimePoint now) { last_ = now; }
  /// A request has ended.
  void note(TimePoint now);

  /// Milliseconds until `places` more requests will have left, 1 to 60000; by one a second until the first has.
  int64_t retry_after_ms(int64_t places) const;
  /// Between two departures.
  Duration mean() const {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(mean_ms_));
  }

 private:
  TimePoint last_{};
  double mean_ms_ = 1000;  // between two departures; an average that forgets, see note()
  bool is_measured_ = false;
};

}  // namespace sluice::scheduler
