#include "engine/gemma3.h"

#include <utility>

#include "engine/layer_weights.h"

namespace sluice::engine {

Result<std::unique_ptr<DecoderLayer>> Gemma3Layer::load(const LayerSource& source) {
  auto layer = std::make_unique<Gemma3Layer>();
  const ModelConfig& config = source.config;
  SLUICE_ASSIGN_OR_RETURN(layer->attention_, AttentionLayer::load(source));
  SLUICE_ASSIGN_OR_RETURN(layer->after_attention_, load_norm(source, "post_attention_norm.weight", config.width));
  SLUICE_ASSIGN_OR_RETURN(layer->ffn_norm_, load_norm(source, "ffn_norm.weight", config.width));
  SLUICE_ASSIGN_OR_RETURN(layer->gate_up_, load_gate_up(source));
  SLUICE_ASSIGN_OR_RETURN(layer->down_, load_matrix(source, "ffn_down.weight", config.ffn_width, config.width));
  SLUICE_ASSIGN_OR_RETURN(layer->after_ffn_, load_norm(source, "post_ffw_norm.weight", config.width));
  layer->activation_ = config.activation;
  return std::unique_ptr<DecoderLayer>(std::move(layer));
}

void Gemma3Layer::run(Backend& backend, const DecoderActivations& act) const {
  attention_.run(backend, act.hidden, act.attention);
  backend.matmul_norm_add(act.hidden, act.attention.attended, attention_.out, after_attention_, act.product);
  backend.norm_gated(act.ffn, act.hidden, ffn_norm_, gate_up_, activation_);
  backend.matmul_norm_add(act.hidden, act.ffn, down_, after_ffn_, act.product);
}

void Gemma3Layer::add_costs(const Backend& backend, StepCosts& costs) const {
  attention_.add_costs(backend, costs);
  add_matrix_costs(backend, gate_up_, costs);
  add_matrix_costs(backend, down_, costs);
}

}  // namespace sluice::engine
