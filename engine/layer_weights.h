#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/decoder_layer.h"
#include "engine/step_costs.h"

// What all families load alike.

namespace sluice::engine {

/// The layer's norm of that name, with a weight of `length` elements and the configuration's shift and epsilon.
Result<RmsNorm> load_norm(const LayerSource& source, const std::string& name, int32_t length);
/// The layer's tensor of that name as a matrix [outputs, inputs].
Result<MatrixId> load_matrix(const LayerSource& source, const std::string& name, int64_t inputs, int64_t outputs);
/// A feed-forward network's first half [2 * ffn_width, width]: gate and up, from two tensors or, where there is no
/// gate, from one that holds both.
Result<MatrixId> load_gate_up(const LayerSource& source);

/// Adds a matrix that every token of a step is multiplied with.
void add_matrix_costs(const Backend& backend, MatrixId matrix, StepCosts& costs);

/// What stands before and after a model's layers.
struct ModelEnds {
  MatrixId embedding;  // [vocab, width]
  RmsNorm norm;
  MatrixId head;  // [vocab, width]; the embedding itself when the files have no other

  /// From a source whose prefix is empty.
  static Result<ModelEnds> load(const LayerSource& source);
  void add_costs(const Backend& backend, StepCosts& costs) const;
};

}  // namespace sluice::engine
