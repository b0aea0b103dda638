#include "engine/llama.h"

#include <string>

#include "engine/weight_picker.h"

namespace sluice::engine {

Result<std::unique_ptr<Model>> Llama::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                           int32_t tokens_max) {
  std::unique_ptr<Llama> model(new Llama(config));
  const LayerRopes ropes = LayerRopes::add_to(backend, config);
  SLUICE_ASSIGN_OR_RETURN(model->ends_, ModelEnds::load(weights, config, backend));
  weights.drop_pages();
  for (int32_t index = 0; index < config.layer_count; ++index) {
    SLUICE_RETURN_IF_ERROR(model->load_layer(weights, backend, ropes, index));
    weights.drop_pages();
  }
  SLUICE_ASSIGN_OR_RETURN(model->hidden_, backend.add_activation(tokens_max, config.width));
  SLUICE_ASSIGN_OR_RETURN(model->attention_, AttentionActivations::add_to(backend, config, tokens_max));
  SLUICE_ASSIGN_OR_RETURN(model->ffn_, backend.add_activation(tokens_max, config.ffn_width));
  return std::unique_ptr<Model>(std::move(model));
}

Status Llama::load_layer(WeightPicker& weights, Backend& backend, const LayerRopes& ropes, int32_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  Layer layer;
  SLUICE_ASSIGN_OR_RETURN(layer.attention, AttentionLayer::load(weights, config_, backend, ropes, index, prefix));
  SLUICE_ASSIGN_OR_RETURN(layer.ffn_norm,
                          load_norm(weights, config_, backend, prefix + "ffn_norm.weight", config_.width));
  SLUICE_ASSIGN_OR_RETURN(layer.gate_up, load_gate_up(weights, backend, prefix, config_.width, config_.ffn_width));
  SLUICE_ASSIGN_OR_RETURN(layer.down,
                          load_matrix(weights, backend, prefix + "ffn_down.weight", config_.ffn_width, config_.width));
  layers_.push_back(layer);
  return Status();
}

StepCosts Llama::costs(const Backend& backend) const {
  StepCosts costs;
  for (const Layer& layer : layers_) {
    layer.attention.add_costs(backend, config_, costs);
    add_matrix_costs(backend, layer.gate_up, costs);
    add_matrix_costs(backend, layer.down, costs);
  }
  ends_.add_costs(backend, costs);
  return costs;
}

Result<StepOutput> Llama::forward(Backend& backend, const Batch& batch) const {
  backend.begin_step(batch);
  backend.embed(hidden_, ends_.embedding, config_.embedding_scale);
  for (const Layer& layer : layers_) {
    layer.attention.run(backend, hidden_, attention_);
    backend.matmul_add(hidden_, attention_.attended, layer.attention.out);
    backend.norm_gated(ffn_, hidden_, layer.ffn_norm, layer.gate_up, config_.activation);
    backend.matmul_add(hidden_, ffn_, layer.down);
  }
  return backend.sample(hidden_, ends_.norm, ends_.head);
}

}  // namespace sluice::engine
