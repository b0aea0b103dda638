#include "engine/llama.h"

#include <string>

#include "engine/layer_weights.h"
#include "engine/weight_picker.h"

namespace sluice::engine {

Result<std::unique_ptr<Model>> Llama::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                           int32_t tokens_max) {
  std::unique_ptr<Llama> model(new Llama());
  const auto load_layer = [&](const LayerRopes& ropes, int32_t layer, const std::string& prefix) {
    return model->load_layer(weights, config, backend, ropes, layer, prefix);
  };
  SLUICE_ASSIGN_OR_RETURN(model->frame_, DecoderFrame::load(weights, config, backend, tokens_max, load_layer));
  SLUICE_ASSIGN_OR_RETURN(model->ffn_, backend.add_activation(tokens_max, config.ffn_width));
  return std::unique_ptr<Model>(std::move(model));
}

Status Llama::load_layer(WeightPicker& weights, const ModelConfig& config, Backend& backend, const LayerRopes& ropes,
                         int32_t index, const std::string& prefix) {
  Layer layer;
  SLUICE_ASSIGN_OR_RETURN(layer.attention, AttentionLayer::load(weights, config, backend, ropes, index, prefix));
  SLUICE_ASSIGN_OR_RETURN(layer.ffn_norm,
                          load_norm(weights, config, backend, prefix + "ffn_norm.weight", config.width));
  SLUICE_ASSIGN_OR_RETURN(layer.gate_up, load_gate_up(weights, backend, prefix, config.width, config.ffn_width));
  SLUICE_ASSIGN_OR_RETURN(layer.down,
                          load_matrix(weights, backend, prefix + "ffn_down.weight", config.ffn_width, config.width));
  layers_.push_back(layer);
  return Status();
}

StepCosts Llama::costs(const Backend& backend) const {
  StepCosts costs;
  for (const Layer& layer : layers_) {
    layer.attention.add_costs(backend, frame_.config, costs);
    add_matrix_costs(backend, layer.gate_up, costs);
    add_matrix_costs(backend, layer.down, costs);
  }
  frame_.ends.add_costs(backend, costs);
  return costs;
}

Result<StepOutput> Llama::forward(Backend& backend, const Batch& batch) const {
  frame_.begin(backend, batch);
  for (const Layer& layer : layers_) {
    layer.attention.run(backend, frame_.hidden, frame_.attention);
    backend.matmul_add(frame_.hidden, frame_.attention.attended, layer.attention.out);
    backend.norm_gated(ffn_, frame_.hidden, layer.ffn_norm, layer.gate_up, frame_.config.activation);
    backend.matmul_add(frame_.hidden, ffn_, layer.down);
  }
  return frame_.sample(backend);
}

}  // namespace sluice::engine
