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
Result<std::vector<StoredTensor>> take_experts(const LayerSource& source, const std::string& kind, int64_t inputs,
                                               int64_t outputs) {
  WeightPicker& weights = source.weights;
  const ModelConfig& config = source.config;
  const std::string name = source.prefix + kind;
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

Result<Experts> load_experts(const LayerSource& source) {
  const int64_t width = source.config.width;
  const ExpertConfig& shape = source.config.experts;
  Backend& backend = source.backend;
  Experts experts{
      .per_token = shape.per_token, .sums_to_one = shape.sums_to_one, .activation = source.config.activation};
  SLUICE_ASSIGN_OR_RETURN(experts.router, load_matrix(source, "ffn_gate_inp.weight", width, shape.count));
  SLUICE_ASSIGN_OR_RETURN(const auto gates, take_experts(source, "ffn_gate", width, shape.ffn_width));
  SLUICE_ASSIGN_OR_RETURN(const auto ups, take_experts(source, "ffn_up", width, shape.ffn_width));
  SLUICE_ASSIGN_OR_RETURN(const auto downs, take_experts(source, "ffn_down", shape.ffn_width, width));
  for (size_t expert = 0; expert < gates.size(); ++expert) {
    SLUICE_ASSIGN_OR_RETURN(const MatrixId gate_up, backend.add_matrix({{&gates[expert], &ups[expert]}}));
    SLUICE_ASSIGN_OR_RETURN(const MatrixId down, backend.add_matrix({{&downs[expert]}}));
    experts.gate_ups.push_back(gate_up);
    experts.downs.push_back(down);
  }
  return experts;
}

}  // namespace

Result<std::unique_ptr<DecoderLayer>> MixtralLayer::load(const LayerSource& source) {
  auto layer = std::make_unique<MixtralLayer>();
  SLUICE_ASSIGN_OR_RETURN(layer->attention_, AttentionLayer::load(source));
  SLUICE_ASSIGN_OR_RETURN(layer->ffn_norm_, load_norm(source, "ffn_norm.weight", source.config.width));
  SLUICE_ASSIGN_OR_RETURN(layer->experts_, load_experts(source));
  SLUICE_ASSIGN_OR_RETURN(layer->experts_id_, source.backend.add_experts(layer->experts_, source.tokens_max));
  return std::unique_ptr<DecoderLayer>(std::move(layer));
}

void MixtralLayer::run(Backend& backend, const DecoderActivations& act) const {
  attention_.run(backend, act.hidden, act.attention);
  backend.matmul_add(act.hidden, act.attention.attended, attention_.out);
  backend.norm_experts_add(act.hidden, ffn_norm_, experts_id_);
}

// A token's share of the experts: what a step of few tokens reads and multiplies. One with many tokens reads more.
void MixtralLayer::add_costs(const Backend& backend, StepCosts& costs) const {
  attention_.add_costs(backend, costs);
  add_matrix_costs(backend, experts_.router, costs);
  for (int32_t i = 0; i < experts_.per_token; ++i) {
    add_matrix_costs(backend, experts_.gate_ups[static_cast<size_t>(i)], costs);
    add_matrix_costs(backend, experts_.downs[static_cast<size_t>(i)], costs);
  }
}

}  // namespace sluice::engine
