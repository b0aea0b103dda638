#include "engine/attention_layer.h"

#include <utility>
#include <vector>

#include "engine/layer_weights.h"
#include "engine/stored_tensor.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

Result<MatrixId> load_qkv(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                          const std::string& prefix) {
  const int64_t query_width = config.query_width();
  const int64_t kv_width = config.kv_width();
  if (weights.has(prefix + "attn_qkv.weight")) {  // Phi-3 keeps the three in one
    return load_matrix(weights, backend, prefix + "attn_qkv.weight", config.width, query_width + 2 * kv_width);
  }
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* q, weights.take(prefix + "attn_q.weight", {config.width, query_width}));
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* k, weights.take(prefix + "attn_k.weight", {config.width, kv_width}));
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* v, weights.take(prefix + "attn_v.weight", {config.width, kv_width}));
  return backend.add_matrix({{q, k, v}});
}

Result<VectorId> load_bias(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                           const std::string& prefix) {
  if (!config.has_qkv_bias) return VectorId{};
  std::vector<float> bias;
  for (const auto& [name, length] :
       {std::pair("attn_q.bias", config.query_width()), std::pair("attn_k.bias", config.kv_width()),
        std::pair("attn_v.bias", config.kv_width())}) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<float> part, weights.take_vector(prefix + name, length));
    bias.insert(bias.end(), part.begin(), part.end());
  }
  return backend.add_vector(std::move(bias));
}

}  // namespace

LayerRopes LayerRopes::add_to(Backend& backend, const ModelConfig& config) {
  const auto add = [&](const RopeConfig& rope) {
    return backend.add_rope({rope_frequencies(rope, config.rope_dim), config.rope_is_pairwise, rope.magnitude});
  };
  return {add(config.rope), add(config.window_rope)};
}

Result<AttentionActivations> AttentionActivations::add_to(Backend& backend, const ModelConfig& config,
                                                          int32_t tokens_max) {
  AttentionActivations act;
  SLUICE_ASSIGN_OR_RETURN(act.qkv, backend.add_activation(tokens_max, config.query_width() + 2 * config.kv_width()));
  SLUICE_ASSIGN_OR_RETURN(act.attended, backend.add_activation(tokens_max, config.query_width()));
  return act;
}

Result<AttentionLayer> AttentionLayer::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                            const LayerRopes& ropes, int32_t layer, const std::string& prefix) {
  AttentionLayer made;
  SLUICE_ASSIGN_OR_RETURN(made.norm, load_norm(weights, config, backend, prefix + "attn_norm.weight", config.width));
  SLUICE_ASSIGN_OR_RETURN(made.qkv, load_qkv(weights, config, backend, prefix));
  SLUICE_ASSIGN_OR_RETURN(made.bias, load_bias(weights, config, backend, prefix));
  SLUICE_ASSIGN_OR_RETURN(
      made.out, load_matrix(weights, backend, prefix + "attn_output.weight", config.query_width(), config.width));
  made.params = {.layer = layer,
                 .head_count = config.head_count,
                 .rope = config.has_window(layer) ? ropes.window : ropes.full,
                 .scale = config.attention_scale};
  if (!config.has_qk_norm) return made;
  SLUICE_ASSIGN_OR_RETURN(made.params.query_norm,
                          load_norm(weights, config, backend, prefix + "attn_q_norm.weight", config.head_dim));
  SLUICE_ASSIGN_OR_RETURN(made.params.key_norm,
                          load_norm(weights, config, backend, prefix + "attn_k_norm.weight", config.head_dim));
  return made;
}

void AttentionLayer::run(Backend& backend, ActivationId hidden, const AttentionActivations& act) const {
  backend.norm_matmul(act.qkv, hidden, norm, qkv, bias);
  backend.attend(act.attended, act.qkv, params);
}

void AttentionLayer::add_costs(const Backend& backend, const ModelConfig& config, StepCosts& costs) const {
  add_matrix_costs(backend, qkv, costs);
  add_matrix_costs(backend, out, costs);
  costs.pair_macs += int64_t{2} * config.query_width();  // the score, and the value that it weighs
}

}  // namespace sluice::engine
