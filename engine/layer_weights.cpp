#include "engine/layer_weights.h"

#include <utility>
#include <vector>

#include "engine/stored_tensor.h"
#include "engine/weight_picker.h"

namespace sluice::engine {

Result<RmsNorm> load_norm(WeightPicker& weights, const ModelConfig& config, Backend& backend, const std::string& name,
                          int32_t length) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> values, weights.take_vector(name, length));
  for (float& value : values) value += config.norm_weight_shift;
  return RmsNorm{backend.add_vector(std::move(values)), config.norm_epsilon};
}

Result<MatrixId> load_matrix(WeightPicker& weights, Backend& backend, const std::string& name, int64_t inputs,
                             int64_t outputs) {
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* tensor, weights.take(name, {inputs, outputs}));
  return backend.add_matrix({{tensor}});
}

Result<MatrixId> load_gate_up(WeightPicker& weights, Backend& backend, const std::string& prefix, int64_t width,
                              int64_t ffn_width) {
  if (!weights.has(prefix + "ffn_gate.weight") && weights.has(prefix + "ffn_up.weight")) {  // Phi-3
    SLUICE_ASSIGN_OR_RETURN(const StoredTensor* both, weights.take(prefix + "ffn_up.weight", {width, 2 * ffn_width}));
    const StoredTensor gate = both->rows(0, ffn_width);
    const StoredTensor up = both->rows(ffn_width, ffn_width);
    return backend.add_matrix({{&gate, &up}});
  }
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* gate, weights.take(prefix + "ffn_gate.weight", {width, ffn_width}));
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* up, weights.take(prefix + "ffn_up.weight", {width, ffn_width}));
  return backend.add_matrix({{gate, up}});
}

void add_matrix_costs(const Backend& backend, MatrixId matrix, StepCosts& costs) {
  const MatrixSize size = backend.matrix_size(matrix);
  costs.layer_bytes += size.bytes;
  costs.token_macs += size.elements();
}

Result<ModelEnds> ModelEnds::load(WeightPicker& weights, const ModelConfig& config, Backend& backend) {
  ModelEnds ends;
  SLUICE_ASSIGN_OR_RETURN(ends.embedding,
                          load_matrix(weights, backend, "token_embd.weight", config.width, config.vocab_size));
  SLUICE_ASSIGN_OR_RETURN(ends.norm, load_norm(weights, config, backend, "output_norm.weight", config.width));
  ends.head = ends.embedding;
  if (weights.has("output.weight")) {
    SLUICE_ASSIGN_OR_RETURN(ends.head, load_matrix(weights, backend, "output.weight", config.width, config.vocab_size));
  }
  return ends;
}

void ModelEnds::add_costs(const Backend& backend, StepCosts& costs) const {
  const MatrixSize size = backend.matrix_size(head);
  costs.head_bytes = size.bytes;
  costs.sample_macs = size.elements();
}

}  // namespace sluice::engine
