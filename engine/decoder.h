#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/decoder_layer.h"
#include "engine/layer_weights.h"
#include "engine/model.h"

namespace sluice::engine {

/// A model as all families have it: an embedding, the family's layers one after the other, a norm and a head.
class Decoder final : public Model {
 public:
  /// Hands the weights to the backend, giving the files' memory back as it goes, and makes buffers for steps of up to
  /// `tokens_max` tokens there. INVALID_ARGUMENT names a tensor that is missing or has another shape than the
  /// configuration says.
  static Result<std::unique_ptr<Model>> load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                             int32_t tokens_max);

  StepCosts costs(const Backend& backend) const override;
  Status forward(Backend& backend, const Batch& batch) const override;
  Status rehearse(Backend& backend) const override;

 private:
  explicit Decoder(float embedding_scale) : embedding_scale_(embedding_scale) {}
  void compute(Backend& backend) const;

  const float embedding_scale_;
  ModelEnds ends_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  DecoderActivations act_;
};

}  // namespace sluice::engine
