#pragma once

#include <chrono>

namespace sluice {

using Duration = std::chrono::nanoseconds;
/// A moment on the monotonic clock; no relation to the calendar.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
inline double to_milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Where the time comes from. Only an application's main file owns a SteadyClock; everything else is given a Clock or a
/// time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back. Callable from any thread.
  virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// Moves only when told to; for tests. Not thread-safe.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{};
};

}  // namespace sluice
