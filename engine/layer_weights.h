#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/model_config.h"
#include "engine/step_costs.h"

// What all families load alike.

namespace sluice::engine {

class WeightPicker;

/// The norm's weight of `length` elements, with the configuration's shift and epsilon.
Result<RmsNorm> load_norm(WeightPicker& weights, const ModelConfig& config, Backend& backend, const std::string& name,
                          int32_t length);
/// One tensor as a matrix [outputs, inputs].
Result<MatrixId> load_matrix(WeightPicker& weights, Backend& backend, const std::string& name, int64_t inputs,
                             int64_t outputs);
/// A feed-forward network's first half [2 * ffn_width, width]: gate and up, from two tensors or, where there is no
/// gate, from one that holds both.
Result<MatrixId> load_gate_up(WeightPicker& weights, Backend& backend, const std::string& prefix, int64_t width,
                              int64_t ffn_width);

/// Adds a matrix that every token of a step is multiplied with.
void add_matrix_costs(const Backend& backend, MatrixId matrix, StepCosts& costs);

/// What stands before and after a model's layers.
struct ModelEnds {
  MatrixId embedding;  // [vocab, width]
  RmsNorm norm;
  MatrixId head;  // [vocab, width]; the embedding itself when the files have no other

  static Result<ModelEnds> load(WeightPicker& weights, const ModelConfig& config, Backend& backend);
  void add_costs(const Backend& backend, StepCosts& costs) const;
};

}  // namespace sluice::engine
