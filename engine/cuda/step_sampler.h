#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/activation_arena.h"
#include "engine/cuda/device.h"
#include "engine/cuda/device_sampler.h"
#include "engine/cuda/device_weights.h"
#include "engine/cuda/drawn_tokens.h"
#include "engine/cuda/kernels/norm_weight.cuh"
#include "engine/cuda/matrix_products.h"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_status.h"

namespace sluice::engine::cuda {

/// What a step ends with (Backend::sample): the logits of the tokens that are sampled, of which no more than a recorded
/// step has exist at once, and what is drawn from them.
template <typename Stored>
class StepSampler {
 public:
  /// What logits are made of.
  struct Head {
    ActivationId in;
    NormWeight norm;
    MatrixId matrix;
  };

  /// All are lent.
  StepSampler(Device& device, const DeviceWeights& weights, ActivationArena& arena, const StepInputs& inputs,
              const MatrixProducts<Stored>& products)
      : device_(device),
        weights_(weights),
        arena_(arena),
        inputs_(inputs),
        products_(products),
        sampler_(device),
        drawn_tokens_(device) {}

  /// Tells the arena what is needed of it; once, and before all that follows.
  void plan(ActivationId in, MatrixId head);
  bool is_planned() const { return room_.vocab_size > 0; }
  Status allocate();
  /// Samples that a step may have.
  int32_t samples_max() const { return room_.samples; }

  /// Of samples [first, first + rows) of the step.
  void compute_logits(const Head& head, int32_t first, int32_t rows, StepStatus& status) const;
  /// Draws all samples of the step; `has_logits` when those of all of them are there.
  void draw(const Head& head, std::span<const SampleRow> samples, bool has_logits, StepStatus& status);
  /// See DeviceSampler.
  Result<StepOutput> take() { return sampler_.take(); }
  /// Puts what the step before drew into the inputs of this one, which are uploaded and have so many decode rows; see
  /// DrawnTokens.
  void take_drawn(int32_t rows, StepStatus& status) const;

 private:
  Device& device_;
  const DeviceWeights& weights_;
  ActivationArena& arena_;
  const StepInputs& inputs_;
  const MatrixProducts<Stored>& products_;
  DeviceSampler sampler_;
  DrawnTokens drawn_tokens_;
  SamplerRoom room_;
  bool has_drawn_ = false;  ///< in the last step
};

}  // namespace sluice::engine::cuda
