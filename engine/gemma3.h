#pragma once

#include <memory>

#include "base/status.h"
#include "engine/decoder_layer.h"

namespace sluice::engine {

/// A layer of Gemma 3 (Gemma Team 2025): some have a window, others see the whole context, each kind with angles of its
/// own; heads are normalised, and so are both halves of a layer, before and after.
class Gemma3Layer final : public DecoderLayer {
 public:
  /// INVALID_ARGUMENT names a tensor that is missing or has another shape than the configuration says.
  static Result<std::unique_ptr<DecoderLayer>> load(const LayerSource& source);

  void run(Backend& backend, const DecoderActivations& act) const override;
  void add_costs(const Backend& backend, StepCosts& costs) const override;

 private:
  AttentionLayer attention_;
  RmsNorm after_attention_;
  RmsNorm ffn_norm_;
  MatrixId gate_up_;  // [2 * ffn_width, width]
  MatrixId down_;     // [width, ffn_width]
  RmsNorm after_ffn_;
  GateActivation activation_ = GateActivation::kGeluTanh;
};

}  // namespace sluice::engine
