#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/device.h"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_status.h"
#include "engine/sampler.h"

namespace sluice::engine::cuda {

struct HeadSize {
  int32_t vocab_size = 0;
  int32_t width = 0;
};

/// Draws a step's tokens, some rows at a time: their logits are computed on the device and drawn from on the host.
class DeviceSampler {
 public:
  static constexpr int32_t kRowsMax = 32;  ///< rows whose logits exist at once

  /// The device outlives it.
  explicit DeviceSampler(Device& device) : device_(device) {}

  /// Room for heads of up to this size.
  Status reserve(const HeadSize& head);

  /// logits [rows, vocab_size] of the tokens `token_indexes` [rows] of the step, through `gathered` [rows, width]; all
  /// in device memory, rows <= kRowsMax.
  using ComputeLogits = std::function<void(const int32_t* token_indexes, int32_t rows, float* gathered, float* logits)>;

  StepOutput sample(const Batch& batch, const StepInputs& inputs, const HeadSize& head,
                    const ComputeLogits& compute_logits, StepStatus& status);

 private:
  Device& device_;
  DeviceBuffer gathered_;
  DeviceBuffer logits_;
  std::vector<float> host_logits_;  // [kRowsMax, vocab_size]
  std::vector<float> block_tops_;   // of one row
  SamplerScratch scratch_;
};

}  // namespace sluice::engine::cuda
