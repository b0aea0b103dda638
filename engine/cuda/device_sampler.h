#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/device.h"
#include "engine/cuda/packed_arrays.h"
#include "engine/cuda/sampling_inputs.h"
#include "engine/cuda/sampling_rows.h"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_status.h"

namespace sluice::engine::cuda {

struct HeadSize {
  int32_t vocab_size = 0;
  int32_t width = 0;
};

/// Draws a step's tokens on the device, some rows at a time: the tokens that sample_token() draws from the same logits.
class DeviceSampler {
 public:
  static constexpr int32_t kRowsMax = 32;  ///< rows whose logits exist at once

  /// The device outlives it.
  explicit DeviceSampler(Device& device) : device_(device), arrays_(device, "what rows are sampled by") {}

  /// Room for heads of up to this size.
  Status reserve(const HeadSize& head);

  /// logits [rows, vocab_size] of the tokens `token_indexes` [rows] of the step, through `gathered` [rows, width]; all
  /// in device memory, rows <= kRowsMax.
  using ComputeLogits = std::function<void(const int32_t* token_indexes, int32_t rows, float* gathered, float* logits)>;

  StepOutput sample(const Batch& batch, const StepInputs& inputs, const HeadSize& head,
                    const ComputeLogits& compute_logits, StepStatus& status);

 private:
  /// What the kernels find of the rows that are uploaded.
  struct Rows {
    LogitBatch logits;
    DrawRows draws;
    PenaltyRows penalties;
    LogprobRows logprobs;
    int32_t* tokens = nullptr;  // [rows] drawn
  };

  Rows upload(std::span<const SampleRow> samples, int32_t vocab_size, StepStatus& status);
  void draw(const Rows& rows, StepStatus& status);
  void collect(int32_t rows, StepOutput& output, StepStatus& status);

  Device& device_;
  int32_t vocab_size_max_ = 0;
  DeviceBuffer gathered_;
  DeviceBuffer logits_;   // float [kRowsMax, vocab_size]
  DeviceBuffer room_;     // of CandidateRoom, a block per row
  DeviceBuffer results_;  // Results
  SamplingInputs sampling_;
  PackedArrays arrays_;
};

}  // namespace sluice::engine::cuda
