#include "engine/mixtral.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/layer_weights.h"
#include "engine/stored_tensor.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

/// One kind of matrix [outputs, inputs] of all experts, stacked in one tensor ("ffn_up_exps") or in one tensor each
/// ("ffn_up.0").
Result<std::vector<StoredTensor>> take_experts(WeightPicker& weights, const ModelConfig& config,
                                               const std::string& name, int64_t inputs, int64_t outputs) {
  std::vector<StoredTensor> tensors;
  if (weights.has(name + "_exps.weight")) {
    SLUICE_ASSIGN_OR_RETURN(const StoredTensor* stack,
                            weights.take(name + "_exps.weight", {inputs, outputs, config.experts.count}));
    for (int32_t expert = 0; expert < config.experts.count; ++expert) {
      tensors.push_back(stack->rows(expert * outputs, outputs));
    }
    return tensors;
  }
  for (int32_t expert = 0; expert < config.experts.count; ++expert) {
    SLUICE_ASSIGN_OR_RETURN(const StoredTensor* tensor,
                            weights.take(name + "." + std::to_string(expert) + ".weight", {inputs, outputs}));
    tensors.push_back(*tensor);
  }
  return tensors;
}

Result<Experts> load_experts(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                             const std::string& prefix) {
  const int64_t width = config.width;
  const int64_t ffn_width = config.experts.ffn_width;
  Experts experts{.per_token = config.experts.per_token,
                  .sums_to_one = config.experts.sums_to_one,
                  .activation = config.activation};
  SLUICE_ASSIGN_OR_RETURN(experts.router,
                          load_matrix(weights, backend, prefix + "ffn_gate_inp.weight", width, config.experts.count));
  SLUICE_ASSIGN_OR_RETURN(const auto gates, take_experts(weights, config, prefix + "ffn_gate", width, ffn_width));
  SLUICE_ASSIGN_OR_RETURN(const auto ups, take_experts(weights, config, prefix + "ffn_up", width, ffn_width));
  SLUICE_ASSIGN_OR_RETURN(const auto downs, take_experts(weights, config, prefix + "ffn_down", ffn_width, width));
  for (size_t expert = 0; expert < gates.size(); ++expert) {
    SLUICE_ASSIGN_OR_RETURN(const MatrixId gate_up, backend.add_matrix({{&gates[expert], &ups[expert]}}));
    SLUICE_ASSIGN_OR_RETURN(const MatrixId down, backend.add_matrix({{&downs[expert]}}));
    experts.gate_ups.push_back(gate_up);
    experts.downs.push_back(down);
  }
  return experts;
}

// A token's share: what a step of few tokens reads and multiplies. One with many tokens reads more experts.
void add_expert_costs(const Backend& backend, const Experts& experts, StepCosts& costs) {
  add_matrix_costs(backend, experts.router, costs);
  for (int32_t i = 0; i < experts.per_token; ++i) {
    add_matrix_costs(backend, experts.gate_ups[static_cast<size_t>(i)], costs);
    add_matrix_costs(backend, experts.downs[static_cast<size_t>(i)], costs);
  }
}

}  // namespace

Result<std::unique_ptr<Model>> Mixtral::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                             int32_t tokens_max) {
  std::unique_ptr<Mixtral> model(new Mixtral());
  const auto load_layer = [&](const LayerRopes& ropes, int32_t layer, const std::string& prefix) {
    return model->load_layer(weights, config, backend, ropes, layer, prefix, tokens_max);
  };
  SLUICE_ASSIGN_OR_RETURN(model->frame_, DecoderFrame::load(weights, config, backend, tokens_max, load_layer));
  return std::unique_ptr<Model>(std::move(model));
}

Status Mixtral::load_layer(WeightPicker& weights, const ModelConfig& config, Backend& backend, const LayerRopes& ropes,
                           int32_t index, const std::string& prefix, int32_t tokens_max) {
  Layer layer;
  SLUICE_ASSIGN_OR_RETURN(layer.attention, AttentionLayer::load(weights, config, backend, ropes, index, prefix));
  SLUICE_ASSIGN_OR_RETURN(layer.ffn_norm,
                          load_norm(weights, config, backend, prefix + "ffn_norm.weight", config.width));
  SLUICE_ASSIGN_OR_RETURN(layer.experts, load_experts(weights, config, backend, prefix));
  SLUICE_ASSIGN_OR_RETURN(layer.experts_id, backend.add_experts(layer.experts, tokens_max));
  layers_.push_back(layer);
  return Status();
}

StepCosts Mixtral::costs(const Backend& backend) const {
  StepCosts costs;
  for (const Layer& layer : layers_) {
    layer.attention.add_costs(backend, frame_.config, costs);
    add_expert_costs(backend, layer.experts, costs);
  }
  frame_.ends.add_costs(backend, costs);
  return costs;
}

Result<StepOutput> Mixtral::forward(Backend& backend, const Batch& batch) const {
  frame_.begin(backend, batch);
  for (const Layer& layer : layers_) {
    layer.attention.run(backend, frame_.hidden, frame_.attention);
    backend.matmul_add(frame_.hidden, frame_.attention.attended, layer.attention.out);
    backend.norm_experts_add(frame_.hidden, layer.ffn_norm, layer.experts_id);
  }
  return frame_.sample(backend);
}

}  // namespace sluice::engine
