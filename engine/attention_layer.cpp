#include "engine/attention_layer.h"

#include <utility>
#include <vector>

#include "engine/decoder_layer.h"
#include "engine/layer_weights.h"
#include "engine/stored_tensor.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

Result<MatrixId> load_qkv(const LayerSource& source) {
  WeightPicker& weights = source.weights;
  const int64_t width = source.config.width;
  const int64_t query_width = source.config.query_width();
  const int64_t kv_width = source.config.kv_width();
  if (weights.has(source.prefix + "attn_qkv.weight")) {  // Phi-3 keeps the three in one
    return load_matrix(source, "attn_qkv.weight", width, query_width + 2 * kv_width);
  }
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* q, weights.take(source.prefix + "attn_q.weight", {width, query_width}));
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* k, weights.take(source.prefix + "attn_k.weight", {width, kv_width}));
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* v, weights.take(source.prefix + "attn_v.weight", {width, kv_width}));
  return source.backend.add_matrix({{q, k, v}});
}

Result<VectorId> load_bias(const LayerSource& source) {
  const ModelConfig& config = source.config;
  if (!config.has_qkv_bias) return VectorId{};
  std::vector<float> bias;
  for (const auto& [name, length] :
       {std::pair("attn_q.bias", config.query_width()), std::pair("attn_k.bias", config.kv_width()),
        std::pair("attn_v.bias", config.kv_width())}) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<float> part, source.weights.take_vector(source.prefix + name, length));
    bias.insert(bias.end(), part.begin(), part.end());
  }
  return source.backend.add_vector(std::move(bias));
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

Result<AttentionLayer> AttentionLayer::load(const LayerSource& source) {
  const ModelConfig& config = source.config;
  AttentionLayer made;
  SLUICE_ASSIGN_OR_RETURN(made.norm, load_norm(source, "attn_norm.weight", config.width));
  SLUICE_ASSIGN_OR_RETURN(made.qkv, load_qkv(source));
  SLUICE_ASSIGN_OR_RETURN(made.bias, load_bias(source));
  SLUICE_ASSIGN_OR_RETURN(made.out, load_matrix(source, "attn_output.weight", config.query_width(), config.width));
  made.params = {.layer = source.index,
                 .head_count = config.head_count,
                 .rope = config.has_window(source.index) ? source.ropes.window : source.ropes.full,
                 .scale = config.attention_scale};
  if (!config.has_qk_norm) return made;
  SLUICE_ASSIGN_OR_RETURN(made.params.query_norm, load_norm(source, "attn_q_norm.weight", config.head_dim));
  SLUICE_ASSIGN_OR_RETURN(made.params.key_norm, load_norm(source, "attn_k_norm.weight", config.head_dim));
  return made;
}

void AttentionLayer::run(Backend& backend, ActivationId hidden, const AttentionActivations& act) const {
  backend.norm_matmul(act.qkv, hidden, norm, qkv, bias);
  backend.attend(act.attended, act.qkv, params);
}

void AttentionLayer::add_costs(const Backend& backend, StepCosts& costs) const {
  add_matrix_costs(backend, qkv, costs);
  add_matrix_costs(backend, out, costs);
  costs.pair_macs += int64_t{2} * backend.matrix_size(out).length;  // the score, and the value that it weighs
}

}  // namespace sluice::engine
