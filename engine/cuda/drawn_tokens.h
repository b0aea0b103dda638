#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_status.h"

namespace sluice::engine::cuda {

/// The way of a drawn token to the next step's inputs, within the device. Where devices share a model, the one that
/// draws tells the others, so that all go on with the same tokens, however close two logits may be.
class DrawnTokens {
 public:
  /// The device outlives it.
  explicit DrawnTokens(Device& device) : device_(device) {}

  /// Takes memory where devices share a model alone. FAILED_PRECONDITION when there they can't tell each other so many
  /// tokens apart.
  Status allocate(int32_t rows_max, int32_t vocab_size);
  /// What Batch::drawn_before of the uploaded batch of so many rows asks for. `drawn` [samples] are the tokens that
  /// this device drew in the step before, nullptr when another one did. Every device that shares the model calls this
  /// in the same steps.
  void take(const StepInputs& inputs, int32_t rows, const int32_t* drawn, StepStatus& status) const;

 private:
  Device& device_;
  DeviceBuffer shared_;  // float [rows]
};

}  // namespace sluice::engine::cuda
