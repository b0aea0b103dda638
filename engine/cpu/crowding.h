#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice::engine {

/// How many of a pool's threads should take part: as many as the machine has cores for. A thread that shares its core
/// with another process is away half of the time, and at the next barrier all others wait for it; so threads leave
/// while cores are missing, as many as cores. From time to time twice as many are tried.
class Crowding {
 public:
  /// Some of the scheduler's time slices, which are about 3 ms.
  static constexpr Duration kWindow = std::chrono::milliseconds(20);
  /// More cores missing than this on average is a crowd. Two threads of which one is always away are as fast as one at
  /// 0.5. Measured there: 0.8 beside a busy process, 0.00 alone.
  static constexpr double kMissingMax = 0.4;
  /// Of a window in the average. It takes four in which a core was missing: bursts are no crowd, and a thread that has
  /// just come may sit on another's core until the system balances its load.
  static constexpr double kWindowWeight = 0.125;
  /// From a change to the next try, at first. A try costs a part of some windows; the time doubles with each that
  /// fails.
  static constexpr Duration kPatienceMin = kWindow;
  static constexpr Duration kPatienceMax = std::chrono::seconds(2);
  /// Threads that have stayed so long have proved that there are cores for them.
  static constexpr Duration kProof = std::chrono::milliseconds(300);

  explicit Crowding(int32_t threads) : threads_(threads), active_(threads) {}

  /// In [1, threads].
  int32_t active() const { return active_; }

  /// During `time`, a window, each of the active() threads lacked a core for some share of the time that it was ready
  /// to run; `missing` is the sum of the shares.
  void note(Duration time, double missing);

 private:
  void leave(int32_t count);
  void try_more();
  void change(int32_t active);

  const int32_t threads_;
  int32_t active_;
  bool is_trying_ = false;  // the last change was upwards, and has not proved right yet
  Duration patience_ = kPatienceMin;
  Duration unchanged_{};
  double missing_ = 0;  // average since the last change
};

}  // namespace sluice::engine
