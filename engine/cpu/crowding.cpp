#include "engine/cpu/crowding.h"

#include <algorithm>

namespace sluice::engine {

void Crowding::note(Duration time, double missing) {
  unchanged_ += time;
  missing_ += (missing - missing_) * kWindowWeight;
  if (missing_ > kMissingMax && active_ > 1) return leave(std::max(static_cast<int32_t>(missing), 1));
  if (is_trying_ && unchanged_ >= kProof) {
    is_trying_ = false;
    patience_ = kPatienceMin;
  }
  const bool is_quiet = std::max(missing, missing_) <= kMissingMax;
  if (is_quiet && !is_trying_ && active_ < threads_ && unchanged_ >= patience_) try_more();
}

void Crowding::leave(int32_t count) {
  if (is_trying_) patience_ = std::min(patience_ * 2, kPatienceMax);
  is_trying_ = false;
  change(std::max(active_ - count, 1));
}

void Crowding::try_more() {
  is_trying_ = true;
  change(std::min(active_ * 2, threads_));
}

void Crowding::change(int32_t active) {
  active_ = active;
  missing_ = 0;
  unchanged_ = Duration::zero();
}

}  // namespace sluice::engine
