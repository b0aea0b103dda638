#include "engine/layer_weights.h"

#include <utility>
#include <vector>

#include "engine/stored_tensor.h"
#include "engine/weight_picker.h"

namespace sluice::engine {

Result<RmsNorm> load_norm(const LayerSource& source, const std::string& name, int32_t length) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> values, source.weights.take_vector(source.prefix + name, length));
  for (float& value : values) value += source.config.norm_weight_shift;
  SLUICE_ASSIGN_OR_RETURN(const VectorId weight, source.backend.add_vector(std::move(values)));
  return RmsNorm{weight, source.config.norm_epsilon};
}

Result<MatrixId> load_matrix(const LayerSource& source, const std::string& name, int64_t inputs, int64_t outputs) {
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* tensor, source.weights.take(source.prefix + name, {inputs, outputs}));
  return source.backend.add_matrix({{tensor}});
}

Result<MatrixId> load_gate_up(const LayerSource& source) {
  WeightPicker& weights = source.weights;
  const int64_t width = source.config.width;
  const int64_t ffn_width = source.config.ffn_width;
  const std::string gate_name = source.prefix + "ffn_gate.weight";
  const std::string up_name = source.prefix + "ffn_up.weight";
  if (!weights.has(gate_name) && weights.has(up_name)) {  // Phi-3
    SLUICE_ASSIGN_OR_RETURN(const StoredTensor* both, weights.take(up_name, {width, 2 * ffn_width}));
    const StoredTensor gate = both->rows(0, ffn_width);
    const StoredTensor up = both->rows(ffn_width, ffn_width);
    return source.backend.add_matrix({{&gate, &up}});
  }
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* gate, weights.take(gate_name, {width, ffn_width}));
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* up, weights.take(up_name, {width, ffn_width}));
  return source.backend.add_matrix({{gate, up}});
}

void add_matrix_costs(const Backend& backend, MatrixId matrix, StepCosts& costs) {
  const MatrixSize size = backend.matrix_size(matrix);
  costs.layer_bytes += size.bytes;
  costs.token_macs += size.elements();
}

Result<ModelEnds> ModelEnds::load(const LayerSource& source) {
  ModelEnds ends;
  const ModelConfig& config = source.config;
  SLUICE_ASSIGN_OR_RETURN(ends.embedding, load_matrix(source, "token_embd.weight", config.width, config.vocab_size));
  SLUICE_ASSIGN_OR_RETURN(ends.norm, load_norm(source, "output_norm.weight", config.width));
  ends.head = ends.embedding;
  if (source.weights.has("output.weight")) {
    SLUICE_ASSIGN_OR_RETURN(ends.head, load_matrix(source, "output.weight", config.width, config.vocab_size));
  }
  return ends;
}

void ModelEnds::add_costs(const Backend& backend, StepCosts& costs) const {
  const MatrixSize size = backend.matrix_size(head);
  costs.head_bytes = size.bytes;
  costs.sample_macs = size.elements();
}

}  // namespace sluice::engine
