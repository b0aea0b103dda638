#pragma once

#include <memory>

#include "base/status.h"
#include "engine/decoder_layer.h"

namespace sluice::engine {

/// A layer of the llama family (Touvron et al. 2023): pre-norm, with rotary grouped-query attention and a gated
/// feed-forward network. Mistral, Qwen2, Qwen3 and Phi-3 differ in what the configuration says of their attention.
class LlamaLayer final : public DecoderLayer {
 public:
  /// INVALID_ARGUMENT names a tensor that is missing or has another shape than the configuration says.
  static Result<std::unique_ptr<DecoderLayer>> load(const LayerSource& source);

  void run(Backend& backend, const DecoderActivations& act) const override;
  void add_costs(const Backend& backend, StepCosts& costs) const override;

 private:
  AttentionLayer attention_;
  RmsNorm ffn_norm_;
  MatrixId gate_up_;  // [2 * ffn_width, width]
  MatrixId down_;     // [width, ffn_width]
  GateActivation activation_ = GateActivation::kSilu;
};

}  // namespace sluice::engine
