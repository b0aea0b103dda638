#pragma once

#include <algorithm>

namespace sluice::scheduler {

/// The margin of `adaptive`, in sigmas. It rises at once with each request that is paused for the first time and sinks
/// with each that ends without having been, so that in the long run a share of `target` of all requests is paused.
class PauseMargin {
 public:
  /// In (0, 1).
  explicit PauseMargin(double target) : target_(target) {}

  void note_paused() { z_ = std::min(kHighest, z_ + kRise); }
  void note_never_paused() { z_ = std::max(0.0, z_ - kRise * target_); }
  double z() const { return z_; }

 private:
  static constexpr double kStart = 3;
  static constexpr double kHighest = 8;
  static constexpr double kRise = 0.25;

  double target_;
  double z_ = kStart;
};

}  // namespace sluice::scheduler
