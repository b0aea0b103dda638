#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "scheduler/step_plan.h"

namespace sluice::scheduler {

/// The steps that are planned and not committed: one, and another behind it while the loop runs ahead. The device
/// computes one after the other, so a step begins when it is planned, or when the one before it is committed.
class OpenSteps {
 public:
  static constexpr int32_t kStepsMax = 2;

  struct Step {
    StepPlan plan;
    uint64_t number = 0;  ///< steps are numbered in the order in which they open
    TimePoint began{};
  };

  bool empty() const { return count_ == 0; }
  int32_t count() const { return count_; }
  /// The plan of the next step, empty, to be filled; fewer than kStepsMax are open. It stays as it is until the step
  /// after next is drafted.
  StepPlan& draft();
  /// What was drafted is a step now.
  void open();
  /// There is one.
  Step& oldest() { return at(0); }
  /// The oldest is over, whatever became of it.
  void close_oldest();
  void close_all() { count_ = 0; }

  /// A sequence has ended: no slice names it any more. The number of the last step that writes to its blocks, if any
  /// does.
  std::optional<uint64_t> drop(const Sequence& sequence);

 private:
  Step& at(int32_t index) { return steps_[(oldest_ + static_cast<size_t>(index)) % kStepsMax]; }

  std::array<Step, kStepsMax> steps_;  // a ring: plans keep their memory
  size_t oldest_ = 0;
  int32_t count_ = 0;
  uint64_t next_number_ = 0;
};

}  // namespace sluice::scheduler
