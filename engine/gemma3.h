#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/attention_layer.h"
#include "engine/backend.h"
#include "engine/decoder_frame.h"
#include "engine/model.h"
#include "engine/model_config.h"

namespace sluice::engine {

class WeightPicker;

/// Gemma 3 (Gemma Team 2025): layers with a window between layers that see the whole context, each with angles of its
/// own; norms of heads; both halves of a layer are normalised before and after; embeddings are scaled.
class Gemma3 final : public Model {
 public:
  /// Hands the weights to the backend and makes buffers for steps of up to `tokens_max` tokens there.
  /// INVALID_ARGUMENT names a tensor that is missing or has another shape than the configuration says.
  static Result<std::unique_ptr<Model>> load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                             int32_t tokens_max);

  StepCosts costs(const Backend& backend) const override;
  Result<StepOutput> forward(Backend& backend, const Batch& batch) const override;

 private:
  struct Layer {
    AttentionLayer attention;
    RmsNorm after_attention;
    RmsNorm ffn_norm;
    MatrixId gate_up;  // [2 * ffn_width, width]
    MatrixId down;     // [width, ffn_width]
    RmsNorm after_ffn;
  };

  Gemma3() = default;
  Status load_layer(WeightPicker& weights, const ModelConfig& config, Backend& backend, const LayerRopes& ropes,
                    int32_t index, const std::string& prefix);

  DecoderFrame frame_;
  std::vector<Layer> layers_;
  ActivationId ffn_;      // [tokens, ffn_width]
  ActivationId product_;  // [tokens, width], of a half before its norm
};

}  // namespace sluice::engine
