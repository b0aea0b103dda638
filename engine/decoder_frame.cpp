#include "engine/decoder_frame.h"

#include "engine/weight_picker.h"

namespace sluice::engine {

Result<DecoderFrame> DecoderFrame::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                        int32_t tokens_max, const LoadLayer& load_layer) {
  DecoderFrame frame;
  frame.config = config;
  const LayerRopes ropes = LayerRopes::add_to(backend, config);
  SLUICE_ASSIGN_OR_RETURN(frame.ends, ModelEnds::load(weights, config, backend));
  weights.drop_pages();
  for (int32_t layer = 0; layer < config.layer_count; ++layer) {
    SLUICE_RETURN_IF_ERROR(load_layer(ropes, layer, "blk." + std::to_string(layer) + "."));
    weights.drop_pages();
  }
  SLUICE_ASSIGN_OR_RETURN(frame.hidden, backend.add_activation(tokens_max, config.width));
  SLUICE_ASSIGN_OR_RETURN(frame.attention, AttentionActivations::add_to(backend, config, tokens_max));
  return frame;
}

}  // namespace sluice::engine
