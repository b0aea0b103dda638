#include "engine/llama.h"

#include <cmath>
#include <string>

#include "engine/gguf.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

Result<RmsNorm> load_norm(WeightPicker& weights, Backend& backend, const std::string& name, const ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* tensor, weights.take(name, {config.width}));
  SLUICE_ASSIGN_OR_RETURN(const VectorId weight, backend.add_vector({{tensor}}));
  return RmsNorm{weight, config.norm_epsilon};
}

Result<MatrixId> load_matrix(WeightPicker& weights, Backend& backend, const std::string& name, int64_t inputs,
                             int64_t outputs) {
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* tensor, weights.take(name, {inputs, outputs}));
  return backend.add_matrix({{tensor}});
}

}  // namespace

Result<std::unique_ptr<Model>> Llama::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                           int32_t tokens_max) {
  std::unique_ptr<Llama> model(new Llama());
  model->head_count_ = config.head_count;
  model->head_dim_ = config.head_dim;
  model->attention_scale_ = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  model->rope_ = backend.add_rope({config.rope_dim, config.rope_base, config.rope_is_pairwise});
  SLUICE_RETURN_IF_ERROR(model->load_ends(weights, config, backend));
  weights.drop_pages();
  for (int32_t index = 0; index < config.layer_count; ++index) {
    SLUICE_ASSIGN_OR_RETURN(const Layer layer, load_layer(weights, config, backend, index));
    model->layers_.push_back(layer);
    weights.drop_pages();
  }
  SLUICE_RETURN_IF_ERROR(model->make_activations(config, backend, tokens_max));
  return std::unique_ptr<Model>(std::move(model));
}

Status Llama::load_ends(WeightPicker& weights, const ModelConfig& config, Backend& backend) {
  SLUICE_ASSIGN_OR_RETURN(embedding_,
                          load_matrix(weights, backend, "token_embd.weight", config.width, config.vocab_size));
  SLUICE_ASSIGN_OR_RETURN(output_norm_, load_norm(weights, backend, "output_norm.weight", config));
  head_ = embedding_;
  if (weights.has("output.weight")) {
    SLUICE_ASSIGN_OR_RETURN(head_, load_matrix(weights, backend, "output.weight", config.width, config.vocab_size));
  }
  return Status();
}

Result<Llama::Layer> Llama::load_layer(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                       int32_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const int64_t query_width = int64_t{config.head_count} * config.head_dim;
  Layer layer;
  SLUICE_ASSIGN_OR_RETURN(layer.attention_norm, load_norm(weights, backend, prefix + "attn_norm.weight", config));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* q, weights.take(prefix + "attn_q.weight", {config.width, query_width}));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* k,
                          weights.take(prefix + "attn_k.weight", {config.width, config.kv_width()}));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* v,
                          weights.take(prefix + "attn_v.weight", {config.width, config.kv_width()}));
  SLUICE_ASSIGN_OR_RETURN(layer.qkv, backend.add_matrix({{q, k, v}}));
  SLUICE_ASSIGN_OR_RETURN(layer.qkv_bias, load_qkv_bias(weights, config, backend, prefix));
  SLUICE_ASSIGN_OR_RETURN(layer.attention_out,
                          load_matrix(weights, backend, prefix + "attn_output.weight", query_width, config.width));
  SLUICE_ASSIGN_OR_RETURN(layer.ffn_norm, load_norm(weights, backend, prefix + "ffn_norm.weight", config));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* gate,
                          weights.take(prefix + "ffn_gate.weight", {config.width, config.ffn_width}));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* up,
                          weights.take(prefix + "ffn_up.weight", {config.width, config.ffn_width}));
  SLUICE_ASSIGN_OR_RETURN(layer.gate_up, backend.add_matrix({{gate, up}}));
  SLUICE_ASSIGN_OR_RETURN(layer.down,
                          load_matrix(weights, backend, prefix + "ffn_down.weight", config.ffn_width, config.width));
  return layer;
}

Result<VectorId> Llama::load_qkv_bias(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                      const std::string& prefix) {
  if (!config.has_qkv_bias) return VectorId{};
  const int64_t query_width = int64_t{config.head_count} * config.head_dim;
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* q, weights.take(prefix + "attn_q.bias", {query_width}));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* k, weights.take(prefix + "attn_k.bias", {config.kv_width()}));
  SLUICE_ASSIGN_OR_RETURN(const GgufTensor* v, weights.take(prefix + "attn_v.bias", {config.kv_width()}));
  return backend.add_vector({{q, k, v}});
}

Status Llama::make_activations(const ModelConfig& config, Backend& backend, int32_t tokens_max) {
  const int32_t query_width = config.head_count * config.head_dim;
  SLUICE_ASSIGN_OR_RETURN(act_.hidden, backend.add_activation(tokens_max, config.width));
  SLUICE_ASSIGN_OR_RETURN(act_.qkv, backend.add_activation(tokens_max, query_width + 2 * config.kv_width()));
  SLUICE_ASSIGN_OR_RETURN(act_.attended, backend.add_activation(tokens_max, query_width));
  SLUICE_ASSIGN_OR_RETURN(act_.ffn, backend.add_activation(tokens_max, config.ffn_width));
  return Status();
}

StepCosts Llama::costs(const Backend& backend) const {
  StepCosts costs;
  for (const Layer& layer : layers_) {
    for (const MatrixId matrix : {layer.qkv, layer.attention_out, layer.gate_up, layer.down}) {
      const MatrixSize size = backend.matrix_size(matrix);
      costs.layer_bytes += size.bytes;
      costs.token_macs += size.elements();
    }
    costs.pair_macs += int64_t{2} * head_count_ * head_dim_;  // the score, and the value that it weighs
  }
  const MatrixSize head = backend.matrix_size(head_);
  costs.head_bytes = head.bytes;
  costs.sample_macs = head.elements();
  return costs;
}

Result<StepOutput> Llama::forward(Backend& backend, const Batch& batch) const {
  backend.begin_step(batch);
  backend.embed(act_.hidden, embedding_);
  int32_t index = 0;
  for (const Layer& layer : layers_) {
    backend.norm_matmul(act_.qkv, act_.hidden, layer.attention_norm, layer.qkv, layer.qkv_bias);
    backend.attend(act_.attended, act_.qkv, {index++, head_count_, rope_, attention_scale_});
    backend.matmul_add(act_.hidden, act_.attended, layer.attention_out);
    backend.norm_swiglu(act_.ffn, act_.hidden, layer.ffn_norm, layer.gate_up);
    backend.matmul_add(act_.hidden, act_.ffn, layer.down);
  }
  return backend.sample(act_.hidden, output_norm_, head_);
}

}  // namespace sluice::engine
