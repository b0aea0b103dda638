#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "engine/attention_layer.h"
#include "engine/backend.h"
#include "engine/model_config.h"
#include "engine/step_costs.h"

namespace sluice::engine {

class WeightPicker;

/// Buffers of a step that all layers of a model share.
struct DecoderActivations {
  ActivationId hidden;  // [tokens, width], the residual stream
  AttentionActivations attention;
  ActivationId ffn;      // [tokens, ffn_width], of models without experts
  ActivationId product;  // [tokens, width], of families that normalise after a product
};

/// One layer of a family. Immutable once loaded; holds handles into the backend that it was loaded into.
class DecoderLayer {
 public:
  virtual ~DecoderLayer() = default;

  /// act.hidden becomes the next layer's input.
  virtual void run(Backend& backend, const DecoderActivations& act) const = 0;
  virtual void add_costs(const Backend& backend, StepCosts& costs) const = 0;
};

/// Where a layer comes from and goes to. Lent for its loading.
struct LayerSource {
  WeightPicker& weights;
  const ModelConfig& config;
  Backend& backend;
  LayerRopes ropes;
  int32_t tokens_max = 0;  ///< of a step
  int32_t index = 0;
  std::string prefix;  ///< begins the names of the layer's tensors
};

}  // namespace sluice::engine
