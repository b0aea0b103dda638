#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/array_layout.h"
#include "engine/cuda/device.h"
#include "engine/cuda/sampling_inputs.h"
#include "engine/cuda/sampling_rows.h"
#include "engine/cuda/step_results.h"
#include "engine/cuda/step_status.h"
#include "engine/cuda/upload_ring.h"

namespace sluice::engine::cuda {

/// What sampling has at most.
struct SamplerRoom {
  int32_t samples = 0;  ///< of a step
  int32_t rows = 0;     ///< whose logits exist at once
  int32_t vocab_size = 0;
};

/// Draws a step's tokens on the device, some rows at a time: the tokens that sample_token() draws from the same logits.
class DeviceSampler {
 public:
  /// Rows that are drawn side by side; others wait for one of these.
  static constexpr int32_t kBlocksMax = 128;

  /// The device outlives it.
  explicit DeviceSampler(Device& device) : device_(device), results_(device) {}

  Status allocate(const SamplerRoom& room);
  /// Device memory that draw() takes while it runs.
  static int64_t scratch_bytes(const SamplerRoom& room);

  /// Draws samples, of which the first is the step's `first`, from logits [samples, vocab_size] in device memory. No
  /// more at once than SamplerRoom::rows.
  void draw(std::span<const SampleRow> samples, int32_t first, float* logits, void* scratch, StepStatus& status);
  /// All of the step's samples are drawn: asks for what they are.
  void send(std::span<const SampleRow> samples, StepStatus& status);
  /// Waits for the oldest step that was sent and not taken.
  Result<StepOutput> take() { return results_.take(); }

  /// In device memory: the last step's [samples].
  const int32_t* drawn() const { return results_.tokens(); }

 private:
  /// Where the kernels find what rows are sampled by. [rows] where nothing else is said.
  struct Places {
    ArrayPlace<float> temperature;
    ArrayPlace<float> inverse_temperature;
    ArrayPlace<int32_t> top_k;
    ArrayPlace<float> top_p;
    ArrayPlace<float> min_p;
    ArrayPlace<double> min_p_depth;
    ArrayPlace<double> unit;
    ArrayPlace<int32_t> scored_token;
    ArrayPlace<int32_t> top_logprobs;
    ArrayPlace<float> repetition;
    ArrayPlace<float> presence;
    ArrayPlace<float> frequency;
    ArrayPlace<int32_t> history_begin;  // [rows + 1]
    ArrayPlace<int32_t> bias_begin;     // [rows + 1]
    ArrayPlace<int32_t> history_token;  // [changes], as all that follow
    ArrayPlace<int32_t> history_count;
    ArrayPlace<int32_t> bias_token;
    ArrayPlace<float> bias;
    ArrayPlace<float> history_logit;  // only the device's, as the last
    ArrayPlace<float> bias_logit;
  };

  size_t fitting(std::span<const SampleRow> samples) const;
  Status upload();
  void stage(void* staged) const;
  Status send_changes();
  void draw_fitting(std::span<const SampleRow> samples, int32_t first, float* logits, void* scratch,
                    StepStatus& status);
  DrawRows draw_rows() const;
  PenaltyRows penalty_rows() const;

  Device& device_;
  SamplerRoom room_;
  int32_t changes_ = 0;  ///< of logits, by penalties and by biases each, that one launch has room for
  Places places_;
  int64_t staged_bytes_ = 0;
  DeviceBuffer memory_;
  std::optional<UploadRing> ring_;
  SamplingInputs inputs_;
  StepResults results_;
};

}  // namespace sluice::engine::cuda
