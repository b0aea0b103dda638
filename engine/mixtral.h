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

/// The llama family with experts in place of one feed-forward network (Jiang et al. 2024): Mixtral, and Qwen3-MoE.
class Mixtral final : public Model {
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
    RmsNorm ffn_norm;
    Experts experts;
    ExpertsId experts_id;
  };

  Mixtral() = default;
  Status load_layer(WeightPicker& weights, const ModelConfig& config, Backend& backend, const LayerRopes& ropes,
                    int32_t index, const std::string& prefix, int32_t tokens_max);

  DecoderFrame frame_;
  std::vector<Layer> layers_;
};

}  // namespace sluice::engine
