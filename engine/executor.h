#pragma once

#include "base/status.h"
#include "engine/batch.h"
#include "engine/step_costs.h"

namespace sluice::engine {

/// Runs one step of a model on a device: forward pass, cache writes and sampling. One caller thread.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Writes the batch's keys and values to their slots, attends through the block tables and draws the samples.
  /// A failure means that the device can't go on: the caller fails every request.
  virtual Result<StepOutput> step(const Batch& batch) = 0;

  /// The same at every time. All zero where nothing is known of them.
  virtual StepCosts costs() const { return {}; }
};

}  // namespace sluice::engine
