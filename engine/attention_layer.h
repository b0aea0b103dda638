#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/model_config.h"
#include "engine/step_costs.h"

namespace sluice::engine {

struct LayerSource;

/// Rotary angles of a model's layers.
struct LayerRopes {
  RopeId full;    ///< of layers that see the whole context
  RopeId window;  ///< of layers with a window

  static LayerRopes add_to(Backend& backend, const ModelConfig& config);
};

/// Buffers of a step that the attention of all layers shares.
struct AttentionActivations {
  ActivationId qkv;       // [tokens, query_width + 2 kv_width]
  ActivationId attended;  // [tokens, query_width]

  static Result<AttentionActivations> add_to(Backend& backend, const ModelConfig& config, int32_t tokens_max);
};

/// Grouped-query attention of one layer (Ainslie et al. 2023), with or without biases on q, k and v (Qwen2) and norms
/// of the queries' and keys' heads (Qwen3, Gemma 3). What is done with its output is the family's business.
struct AttentionLayer {
  RmsNorm norm;
  MatrixId qkv;   // [query_width + 2 kv_width, width]
  VectorId bias;  // [query_width + 2 kv_width], may not exist
  MatrixId out;   // [width, query_width]
  AttentionParams params;

  /// INVALID_ARGUMENT names a tensor that is missing or has another shape than the configuration says.
  static Result<AttentionLayer> load(const LayerSource& source);

  /// act.attended = attention over `hidden`.
  void run(Backend& backend, ActivationId hidden, const AttentionActivations& act) const;
  void add_costs(const Backend& backend, StepCosts& costs) const;
};

}  // namespace sluice::engine
