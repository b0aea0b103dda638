#include "engine/rank_tensors.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

/// A layer's tensor: "blk.3.attn_q.weight" is "blk.3." and "attn_q.weight".
struct LayerName {
  std::string prefix;
  std::string_view rest;
};

std::optional<LayerName> layer_name(std::string_view name) {
  constexpr std::string_view kLayer = "blk.";
  if (!name.starts_with(kLayer)) return std::nullopt;
  const size_t dot = name.find('.', kLayer.size());
  if (dot == std::string_view::npos) return std::nullopt;
  return LayerName{std::string(name.substr(0, dot + 1)), name.substr(dot + 1)};
}

}  // namespace

std::map<std::string, RankTensors::Share, std::less<>> RankTensors::shares_of(const ModelConfig& config) {
  constexpr size_t kColumns = 0;
  constexpr size_t kRows = 1;
  const int64_t width = config.width;
  std::map<std::string, Share, std::less<>> shares;
  for (const auto& [name, outputs] : {std::pair("attn_q", config.query_width()), std::pair("attn_k", config.kv_width()),
                                      std::pair("attn_v", config.kv_width())}) {
    shares[name + std::string(".weight")] = {{width, outputs}, kRows};
    shares[name + std::string(".bias")] = {{outputs}, kColumns};
  }
  shares["attn_output.weight"] = {{config.query_width(), width}, kColumns};
  if (config.experts.count == 0) {
    shares["ffn_gate.weight"] = shares["ffn_up.weight"] = {{width, config.ffn_width}, kRows};
    shares["ffn_down.weight"] = {{config.ffn_width, width}, kColumns};
    return shares;
  }
  const int64_t ffn_width = config.experts.ffn_width;
  const int64_t count = config.experts.count;
  shares["ffn_gate_exps.weight"] = shares["ffn_up_exps.weight"] = {{width, ffn_width, count}, kRows};
  shares["ffn_down_exps.weight"] = {{ffn_width, width, count}, kColumns};
  for (int64_t i = 0; i < count; ++i) {
    const std::string expert = "." + std::to_string(i) + ".weight";
    shares["ffn_gate" + expert] = shares["ffn_up" + expert] = {{width, ffn_width}, kRows};
    shares["ffn_down" + expert] = {{ffn_width, width}, kColumns};
  }
  return shares;
}

Result<RankTensors> RankTensors::make(const TensorSource& source, const ModelConfig& config, const Rank& rank) {
  SLUICE_CHECK(check_rank_count(config, rank.count).ok());
  RankTensors made(source, rank);
  made.shares_ = shares_of(config);
  for (const StoredTensor& stored : source.tensors()) SLUICE_RETURN_IF_ERROR(made.add(stored, config));
  return made;
}

const StoredTensor* RankTensors::find_tensor(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::string RankTensors::spelling(std::string_view name) const {
  const auto found = index_.find(name);
  return source_->spelling(found == index_.end() ? name : stored_names_[found->second]);
}

Status RankTensors::add(const StoredTensor& stored, const ModelConfig& config) {
  const std::optional<LayerName> layer = layer_name(stored.name);
  if (!layer) return put(std::string(stored.name), stored, stored.name);
  if (layer->rest == "attn_qkv.weight") {  // Phi-3 keeps the three in one
    const int64_t kv_width = config.kv_width();
    return add_parts(
        stored, layer->prefix,
        {{{"attn_q.weight", config.query_width()}, {"attn_k.weight", kv_width}, {"attn_v.weight", kv_width}}},
        config.width);
  }
  const bool has_gate = source_->find_tensor(layer->prefix + "ffn_gate.weight") != nullptr;
  if (layer->rest == "ffn_up.weight" && config.experts.count == 0 && !has_gate) {  // and these two
    return add_parts(stored, layer->prefix,
                     {{{"ffn_gate.weight", config.ffn_width}, {"ffn_up.weight", config.ffn_width}}}, config.width);
  }
  const auto share = shares_.find(layer->rest);
  return share == shares_.end() ? put(std::string(stored.name), stored, stored.name) : add_share(stored, share->second);
}

Status RankTensors::add_parts(const StoredTensor& stored, const std::string& prefix, std::span<const Part> parts,
                              int64_t width) {
  int64_t rows = 0;
  for (const Part& part : parts) rows += part.rows;
  SLUICE_RETURN_IF_ERROR(check_shape(*source_, stored, {{width, rows}}));
  int64_t begin = 0;
  for (const Part& part : parts) {
    const int64_t count = part.rows / rank_.count;
    SLUICE_RETURN_IF_ERROR(
        put(prefix + std::string(part.name), stored.rows(begin + rank_.index * count, count), stored.name));
    begin += part.rows;
  }
  return Status();
}

Status RankTensors::add_share(const StoredTensor& stored, const Share& share) {
  SLUICE_RETURN_IF_ERROR(check_shape(*source_, stored, share.shape));
  const std::string name(stored.name);
  const int64_t count = share.shape[share.dimension] / rank_.count;
  if (share.dimension == 1 && share.shape.size() == 2) {
    return put(name, stored.rows(rank_.index * count, count), stored.name);
  }
  const int64_t block = traits_of(stored.type).block_elements;
  if (share.dimension == 0 && count % block != 0) {
    return invalid_argument(source_->path() + ": tensor " + source_->spelling(name) + " has rows of " +
                            std::to_string(share.shape[0]) + " elements in blocks of " + std::to_string(block) + " (" +
                            tensor_type_name(stored.type) + "), which can't be cut into " +
                            std::to_string(rank_.count) + " equal runs of whole blocks; ask for fewer ranks with " +
                            "engine.tensor_parallel, or take a file with other types");
  }
  return put(name, cuts_.emplace_back(stored, share.dimension, rank_).view(), stored.name);
}

Status RankTensors::put(const std::string& name, StoredTensor tensor, std::string_view stored_name) {
  tensor.name = names_.emplace_back(name);
  if (!index_.emplace(tensor.name, tensors_.size()).second) {
    return invalid_argument(source_->path() + ": tensor " + source_->spelling(stored_name) + " holds " + name +
                            ", which the file has already");
  }
  tensors_.push_back(std::move(tensor));
  stored_names_.push_back(stored_name);
  return Status();
}

}  // namespace sluice::engine
