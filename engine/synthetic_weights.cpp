#include "engine/synthetic_weights.h"

#include <cmath>
#include <utility>

#include "engine/quant_scheme.h"

namespace sluice::engine {
namespace {

constexpr uint64_t kSeed = 0x51c3;
constexpr float kBiasDeviation = 0.02F;

Status check_rows(const std::string& path, const ModelConfig& config, TensorType type) {
  const int64_t ffn_width = config.experts.count > 0 ? config.experts.ffn_width : config.ffn_width;
  const int64_t block = traits_of(type).block_elements;
  for (const int64_t length : {int64_t{config.width}, int64_t{config.query_width()}, ffn_width}) {
    if (length % block == 0) continue;
    return invalid_argument(path + ": the model has matrices with rows of " + std::to_string(length) +
                            " elements, which are no whole blocks of " + std::to_string(block) + " as " +
                            tensor_type_name(type) + " has them; name another type");
  }
  return Status();
}

}  // namespace

Result<SyntheticWeights> SyntheticWeights::make(std::string path, const HfConfig& config, TensorType type) {
  SLUICE_RETURN_IF_ERROR(check_rows(path, config.model, type));
  SyntheticWeights weights(std::move(path), type);
  weights.add_ends(config.model, config.ties_embeddings);
  for (int32_t layer = 0; layer < config.model.layer_count; ++layer) {
    weights.add_layer(config.model, "blk." + std::to_string(layer) + ".");
  }
  return weights;
}

const StoredTensor* SyntheticWeights::find_tensor(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

void SyntheticWeights::add_ends(const ModelConfig& config, bool ties_embeddings) {
  add_matrix("token_embd.weight", {config.width, config.vocab_size});
  add_norm(config, "output_norm.weight", config.width);
  if (!ties_embeddings) add_matrix("output.weight", {config.width, config.vocab_size});
}

void SyntheticWeights::add_layer(const ModelConfig& config, const std::string& prefix) {
  add_attention(config, prefix);
  add_norm(config, prefix + "ffn_norm.weight", config.width);
  add_feed_forward(config, prefix);
  if (config.family != ModelFamily::kGemma3) return;
  add_norm(config, prefix + "post_attention_norm.weight", config.width);
  add_norm(config, prefix + "post_ffw_norm.weight", config.width);
}

void SyntheticWeights::add_attention(const ModelConfig& config, const std::string& prefix) {
  add_norm(config, prefix + "attn_norm.weight", config.width);
  for (const auto& [name, outputs] : {std::pair("attn_q", config.query_width()), std::pair("attn_k", config.kv_width()),
                                      std::pair("attn_v", config.kv_width())}) {
    add_matrix(prefix + name + ".weight", {config.width, outputs});
    if (config.has_qkv_bias) add_bias(prefix + name + ".bias", outputs);
  }
  add_matrix(prefix + "attn_output.weight", {config.query_width(), config.width});
  if (!config.has_qk_norm) return;
  add_norm(config, prefix + "attn_q_norm.weight", config.head_dim);
  add_norm(config, prefix + "attn_k_norm.weight", config.head_dim);
}

void SyntheticWeights::add_feed_forward(const ModelConfig& config, const std::string& prefix) {
  if (config.experts.count == 0) {
    add_matrix(prefix + "ffn_gate.weight", {config.width, config.ffn_width});
    add_matrix(prefix + "ffn_up.weight", {config.width, config.ffn_width});
    add_matrix(prefix + "ffn_down.weight", {config.ffn_width, config.width});
    return;
  }
  const int64_t count = config.experts.count;
  const int64_t ffn_width = config.experts.ffn_width;
  add_matrix(prefix + "ffn_gate_inp.weight", is_quantized(type_) ? TensorType::kF32 : type_, {config.width, count});
  add_matrix(prefix + "ffn_gate_exps.weight", {config.width, ffn_width, count});
  add_matrix(prefix + "ffn_up_exps.weight", {config.width, ffn_width, count});
  add_matrix(prefix + "ffn_down_exps.weight", {ffn_width, config.width, count});
}

void SyntheticWeights::add_matrix(const std::string& name, TensorType type, std::vector<int64_t> shape) {
  const float deviation = 1.0F / std::sqrt(static_cast<float>(shape.front()));
  add(name, type, std::move(shape), {.mean = 0, .deviation = deviation});
}

void SyntheticWeights::add_norm(const ModelConfig& config, const std::string& name, int64_t length) {
  add(name, TensorType::kF32, {length}, {.mean = 1 - config.norm_weight_shift, .deviation = 0});
}

void SyntheticWeights::add_bias(const std::string& name, int64_t length) {
  add(name, TensorType::kF32, {length}, {.mean = 0, .deviation = kBiasDeviation});
}

void SyntheticWeights::add(const std::string& name, TensorType type, std::vector<int64_t> shape, WeightSpread spread) {
  StoredTensor tensor{.name = names_.emplace_back(name), .type = type, .shape = std::move(shape), .data = {}};
  index_.emplace(tensor.name, tensors_.size());
  Rows& rows = rows_for(type, tensor.row_length(), spread);
  tensor.maker = rows.maker.get();
  tensor.first_made_row = rows.taken;
  rows.taken += tensor.row_count();
  tensors_.push_back(std::move(tensor));
}

// Makers are told apart by their place in the order in which the shapes come up.
SyntheticWeights::Rows& SyntheticWeights::rows_for(TensorType type, int64_t row_length, WeightSpread spread) {
  const uint64_t seed = kSeed + rows_.size();
  Rows& rows = rows_[{type, row_length, spread.mean, spread.deviation}];
  if (rows.maker == nullptr) rows.maker = std::make_unique<RandomRows>(type, row_length, spread, seed);
  return rows;
}

}  // namespace sluice::engine
