#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/memory_use.h"
#include "engine/step_costs.h"

namespace sluice::engine {

/// Runs steps of a model on a device: forward pass, cache writes and sampling. One caller thread.
///
/// A step is launched and then collected; the device computes steps one after the other, in the order in which they
/// were launched. Between the two it may write to the step's slots at any time, so nobody else may have them. A failure
/// means that the device can't go on: the caller collects what else it has launched and fails every request.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Starts a step: the batch's keys and values are written to their slots, its tokens attend through the block tables,
  /// and the samples are drawn. The batch and what it lends are lent for the call only. At most 1 + steps_ahead() steps
  /// are launched and not collected. After a failure there is nothing to collect of this step.
  virtual Status launch(const Batch& batch) = 0;
  /// Waits for the oldest step that was launched and not collected; there is one. What it gives is in the order of that
  /// batch's samples.
  virtual Result<StepOutput> collect() = 0;
  /// Further steps that may be launched before the oldest is collected: 0 or 1. Always the same.
  virtual int32_t steps_ahead() const { return 0; }

  /// Launches a step and collects it, for callers that have launched no other.
  Result<StepOutput> step(const Batch& batch) {
    SLUICE_RETURN_IF_ERROR(launch(batch));
    return collect();
  }

  /// The same at every time. All zero where nothing is known of them.
  virtual StepCosts costs() const { return {}; }
  /// Of the device's memory, in the order in which it was taken, and what is left; empty where nobody keeps account.
  virtual std::vector<MemoryUse> memory_uses() const { return {}; }
};

}  // namespace sluice::engine
