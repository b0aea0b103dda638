#pragma once

#include <memory>

#include "base/status.h"
#include "engine/decoder_layer.h"

namespace sluice::engine {

/// A layer of the llama family with experts in place of one feed-forward network (Jiang et al. 2024): Mixtral and
/// Qwen3-MoE.
class MixtralLayer final : public DecoderLayer {
 public:
  /// INVALID_ARGUMENT names a tensor that is missing or has another shape than the configuration says.
  static Result<std::unique_ptr<DecoderLayer>> load(const LayerSource& source);

  void run(Backend& backend, const DecoderActivations& act) const override;
  void add_costs(const Backend& backend, StepCosts& costs) const override;

 private:
  AttentionLayer attention_;
  RmsNorm ffn_norm_;
  Experts experts_;
  ExpertsId experts_id_;
};

}  // namespace sluice::engine
