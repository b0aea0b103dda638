#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "engine/attention_layer.h"
#include "engine/backend.h"
#include "engine/layer_weights.h"
#include "engine/model_config.h"

namespace sluice::engine {

class WeightPicker;

/// What the layers of any family stand between, and the buffers of a step that they share.
struct DecoderFrame {
  /// Loads layer `layer`, whose tensors' names begin with `prefix`.
  using LoadLayer = std::function<Status(const LayerRopes& ropes, int32_t layer, const std::string& prefix)>;

  ModelConfig config;
  ModelEnds ends;
  ActivationId hidden;  // [tokens, width], the residual stream
  AttentionActivations attention;

  /// Hands the ends and all layers to the backend, giving the files' memory back as it goes, and makes the buffers for
  /// steps of up to `tokens_max` tokens.
  static Result<DecoderFrame> load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                   int32_t tokens_max, const LoadLayer& load_layer);

  void begin(Backend& backend, const Batch& batch) const {
    backend.begin_step(batch);
    backend.embed(hidden, ends.embedding, config.embedding_scale);
  }
  Result<StepOutput> sample(Backend& backend) const { return backend.sample(hidden, ends.norm, ends.head); }
};

}  // namespace sluice::engine
