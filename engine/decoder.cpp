#include "engine/decoder.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "engine/gemma3.h"
#include "engine/llama.h"
#include "engine/mixtral.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

Result<std::unique_ptr<DecoderLayer>> load_layer(const LayerSource& source) {
  switch (source.config.family) {
    case ModelFamily::kLlama:
      return LlamaLayer::load(source);
    case ModelFamily::kGemma3:
      return Gemma3Layer::load(source);
    case ModelFamily::kMixtral:
      return MixtralLayer::load(source);
  }
  SLUICE_CHECK(false && "a ModelFamily outside the enum");
}

Result<DecoderActivations> add_activations(const ModelConfig& config, Backend& backend, int32_t tokens_max) {
  DecoderActivations act;
  SLUICE_ASSIGN_OR_RETURN(act.hidden, backend.add_activation(tokens_max, config.width));
  SLUICE_ASSIGN_OR_RETURN(act.attention, AttentionActivations::add_to(backend, config, tokens_max));
  if (config.family != ModelFamily::kMixtral) {
    SLUICE_ASSIGN_OR_RETURN(act.ffn, backend.add_activation(tokens_max, config.ffn_width));
  }
  if (config.family == ModelFamily::kGemma3) {
    SLUICE_ASSIGN_OR_RETURN(act.product, backend.add_activation(tokens_max, config.width));
  }
  return act;
}

}  // namespace

Result<std::unique_ptr<Model>> Decoder::load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                             int32_t tokens_max) {
  std::unique_ptr<Decoder> model(new Decoder(config.embedding_scale));
  LayerSource source{weights, config, backend, LayerRopes::add_to(backend, config), tokens_max, 0, {}};
  SLUICE_ASSIGN_OR_RETURN(model->ends_, ModelEnds::load(source));
  weights.drop_pages(backend.unread_bytes());
  for (; source.index < config.layer_count; ++source.index) {
    source.prefix = "blk." + std::to_string(source.index) + ".";
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<DecoderLayer> layer, load_layer(source));
    model->layers_.push_back(std::move(layer));
    weights.drop_pages(backend.unread_bytes());
  }
  SLUICE_ASSIGN_OR_RETURN(model->act_, add_activations(config, backend, tokens_max));
  return std::unique_ptr<Model>(std::move(model));
}

StepCosts Decoder::costs(const Backend& backend) const {
  StepCosts costs;
  for (const auto& layer : layers_) layer->add_costs(backend, costs);
  ends_.add_costs(backend, costs);
  return costs;
}

void Decoder::compute(Backend& backend) const {
  backend.embed(act_.hidden, ends_.embedding, embedding_scale_);
  for (const auto& layer : layers_) layer->run(backend, act_);
}

Status Decoder::forward(Backend& backend, const Batch& batch) const {
  if (backend.begin_step(batch) == StepStart::kCompute) compute(backend);
  return backend.sample(act_.hidden, ends_.norm, ends_.head);
}

Status Decoder::rehearse(Backend& backend) const {
  const int32_t count = backend.rehearsal_count();
  for (int32_t index = 0; index < count; ++index) {
    SLUICE_RETURN_IF_ERROR(backend.begin_rehearsal(index));
    compute(backend);
    const Status sampled = backend.sample(act_.hidden, ends_.norm, ends_.head);
    SLUICE_RETURN_IF_ERROR(backend.end_rehearsal());
    SLUICE_RETURN_IF_ERROR(sampled);
  }
  return {};
}

}  // namespace sluice::engine
