#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/model.h"
#include "engine/model_config.h"

namespace sluice::engine {

class WeightPicker;

/// The llama family (Touvron et al. 2023): pre-norm decoder with rotary grouped-query attention and SwiGLU; with biases
/// on q, k and v it is qwen2. The head is the embedding when the file has no output.weight.
class Llama final : public Model {
 public:
  /// Hands the weights to the backend and makes buffers for steps of up to `tokens_max` tokens there.
  /// INVALID_ARGUMENT names a tensor that is missing or has another shape than the configuration says.
  static Result<std::unique_ptr<Model>> load(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                             int32_t tokens_max);

  StepCosts costs(const Backend& backend) const override;
  Result<StepOutput> forward(Backend& backend, const Batch& batch) const override;

 private:
  struct Layer {
    RmsNorm attention_norm;
    MatrixId qkv;            // [(heads + 2 kv_heads) * head_dim, width]
    VectorId qkv_bias;       // [(heads + 2 kv_heads) * head_dim], may not exist
    MatrixId attention_out;  // [width, heads * head_dim]
    RmsNorm ffn_norm;
    MatrixId gate_up;  // [2 * ffn_width, width]
    MatrixId down;     // [width, ffn_width]
  };
  struct Activations {
    ActivationId hidden;    // [tokens, width], the residual stream
    ActivationId qkv;       // [tokens, (heads + 2 kv_heads) * head_dim]
    ActivationId attended;  // [tokens, heads * head_dim]
    ActivationId ffn;       // [tokens, ffn_width]
  };

  Llama() = default;
  static Result<Layer> load_layer(WeightPicker& weights, const ModelConfig& config, Backend& backend, int32_t index);
  static Result<VectorId> load_qkv_bias(WeightPicker& weights, const ModelConfig& config, Backend& backend,
                                        const std::string& prefix);
  Status load_ends(WeightPicker& weights, const ModelConfig& config, Backend& backend);
  Status make_activations(const ModelConfig& config, Backend& backend, int32_t tokens_max);

  int32_t head_count_ = 0;
  int32_t head_dim_ = 0;
  float attention_scale_ = 0;
  RopeId rope_;
  MatrixId embedding_;  // [vocab, width]
  std::vector<Layer> layers_;
  RmsNorm output_norm_;
  MatrixId head_;  // [vocab, width]
  Activations act_;
};

}  // namespace sluice::engine
