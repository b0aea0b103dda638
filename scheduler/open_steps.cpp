#include "scheduler/open_steps.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::scheduler {

StepPlan& OpenSteps::draft() {
  SLUICE_CHECK(count_ < kStepsMax);
  StepPlan& plan = at(count_).plan;
  plan.clear();
  plan.is_ahead = count_ > 0;
  return plan;
}

void OpenSteps::open() {
  SLUICE_CHECK(count_ < kStepsMax);
  at(count_).number = next_number_++;
  ++count_;
}

void OpenSteps::close_oldest() {
  SLUICE_CHECK(count_ > 0);
  oldest_ = (oldest_ + 1) % kStepsMax;
  --count_;
}

std::optional<uint64_t> OpenSteps::drop(const Sequence& sequence) {
  std::optional<uint64_t> last;
  for (int32_t index = 0; index < count_; ++index) {
    Step& step = at(index);
    std::erase(step.plan.paused, &sequence);
    const auto slice = std::ranges::find_if(step.plan.slices, [&](const Slice& s) { return s.sequence == &sequence; });
    if (slice == step.plan.slices.end()) continue;
    slice->sequence = nullptr;
    last = step.number;
  }
  return last;
}

}  // namespace sluice::scheduler
