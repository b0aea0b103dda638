#include "engine/cpu/crowding.h"

#include <algorithm>

namespace sluice::engine {

void Crowding::note(Duration time, double missing) {
  unchanged_ += time;
  if (missing > kMissingMax) return leave(std::max(static_cast<int32_t>(missing), 1));
  if (is_trying_ && unchanged_ >= kProof) {
    is_trying_ = false;
    patience_ = kPatienceMin;
  }
  if (!is_trying_ && active_ < threads_ && unchanged_ >= patience_) try_more();
}

void Crowding::leave(int32_t count) {
  if (is_trying_) patience_ = std::min(patience_ * 2, kPatienceMax);
  is_trying_ = false;
  active_ = std::max(active_ - count, 1);
  unchanged_ = Duration::zero();
}

void Crowding::try_more() {
  is_trying_ = true;
  active_ = std::min(active_ * 2, threads_);
  unchanged_ = Duration::zero();
}

}  // namespace sluice::engine
