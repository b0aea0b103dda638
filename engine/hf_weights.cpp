#include "engine/hf_weights.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/json_file.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr uint64_t kIndexBytesMax = uint64_t{64} << 20U;
constexpr size_t kShardsMax = 4096;
constexpr size_t kDimensionsMax = 4;

std::string in_folder(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

/// A shard is a file beside its index: a name that leads elsewhere would let a folder read what isn't its own.
bool is_plain_file_name(const std::string& name) {
  return name.ends_with(".safetensors") && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

/// The tensors of each shard, as the index has them.
using ShardList = std::map<std::string, std::vector<std::string>>;

Result<ShardList> read_index(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const json index, read_json_file(path, kIndexBytesMax));
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) return invalid_argument(path + ": it has no object weight_map");
  ShardList shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      return invalid_argument(path + ": the file of tensor " + printable_name(tensor) + " is not a string");
    }
    const auto name = file.get<std::string>();
    if (!is_plain_file_name(name)) {
      return invalid_argument(path + ": tensor " + printable_name(tensor) + " is said to be in \"" +
                              printable_name(name) + "\", which is not the name of a .safetensors file in the folder");
    }
    shards[name].push_back(tensor);
  }
  if (shards.empty()) return invalid_argument(path + ": weight_map lists no tensors");
  if (shards.size() <= kShardsMax) return shards;
  return invalid_argument(path + ": it lists " + std::to_string(shards.size()) + " files, more than " +
                          std::to_string(kShardsMax));
}

/// What the index lists must be there.
Status check_shard(const SafetensorsFile& file, const std::vector<std::string>& listed, const std::string& index_path) {
  std::set<std::string_view> present;
  for (const SafetensorsEntry& entry : file.entries()) present.insert(entry.name);
  for (const std::string& tensor : listed) {
    if (present.contains(tensor)) continue;
    return invalid_argument(file.path() + ": tensor " + printable_name(tensor) + " is missing, though " + index_path +
                            " lists it");
  }
  return Status();
}

}  // namespace

Result<HfWeights> HfWeights::open(const std::string& folder, const HfNames& names) {
  HfWeights weights(folder, names);
  // As transformers does: one file counts before an index.
  if (std::error_code error; std::filesystem::exists(in_folder(folder, kSingleFile), error)) {
    SLUICE_RETURN_IF_ERROR(weights.add_file(std::string(kSingleFile)));
  } else {
    const Status status = weights.add_shards(in_folder(folder, kIndexFile));
    if (status.code() == StatusCode::kNotFound && weights.files_.empty()) {
      return not_found(folder + ": it has neither " + std::string(kSingleFile) + " nor " + std::string(kIndexFile));
    }
    SLUICE_RETURN_IF_ERROR(status);
  }
  return weights;
}

Status HfWeights::add_shards(const std::string& index_path) {
  SLUICE_ASSIGN_OR_RETURN(const ShardList shards, read_index(index_path));
  for (const auto& [name, tensors] : shards) {
    Status added = add_file(name);
    if (added.code() == StatusCode::kNotFound)
      return invalid_argument(added.message() + "; " + index_path + " lists it");
    SLUICE_RETURN_IF_ERROR(added);
    SLUICE_RETURN_IF_ERROR(check_shard(files_.back(), tensors, index_path));
  }
  return Status();
}

Status HfWeights::add_file(const std::string& file_name) {
  SLUICE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(in_folder(folder_, file_name)));
  files_.push_back(std::move(file));
  for (const SafetensorsEntry& entry : files_.back().entries()) {
    SLUICE_RETURN_IF_ERROR(add_tensor(files_.back(), entry));
  }
  return Status();
}

Status HfWeights::add_tensor(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  std::optional<std::string> name = names_.to_gguf(entry.name);
  if (!name.has_value() || entry.data.empty()) return Status();  // nothing that a model could ask for
  const std::string where = file.path() + ": tensor " + printable_name(entry.name);
  if (entry.shape.size() > kDimensionsMax) {
    return invalid_argument(where + " has " + std::to_string(entry.shape.size()) + " dimensions, but at most " +
                            std::to_string(kDimensionsMax) + " are supported");
  }
  gguf_names_.push_back(*std::move(name));
  StoredTensor tensor{.name = gguf_names_.back(),
                      .type = entry.type,
                      .shape = {entry.shape.rbegin(), entry.shape.rend()},
                      .data = entry.data,
                      .file = &file.file()};
  if (tensor.shape.empty()) tensor.shape = {1};
  const auto [other, is_new] = index_.emplace(tensor.name, tensors_.size());
  if (!is_new) {
    return invalid_argument(where + " is there twice: " + printable_name(own_names_[other->second]) +
                            " is the same weight of the model");
  }
  tensors_.push_back(std::move(tensor));
  own_names_.push_back(entry.name);
  return Status();
}

const StoredTensor* HfWeights::find_tensor(std::string_view name) const {
  const auto entry = index_.find(name);
  return entry == index_.end() ? nullptr : &tensors_[entry->second];
}

std::string HfWeights::spelling(std::string_view name) const {
  const auto entry = index_.find(name);
  return entry == index_.end() ? names_.from_gguf(name) : printable_name(own_names_[entry->second]);
}

void HfWeights::drop_pages() const {
  for (const SafetensorsFile& file : files_) file.drop_pages();
}

void HfWeights::drop_equal_output() {
  const StoredTensor* const output = find_tensor("output.weight");
  const StoredTensor* const embedding = find_tensor("token_embd.weight");
  if (output == nullptr || embedding == nullptr || output->type != embedding->type ||
      output->shape != embedding->shape || !std::ranges::equal(output->data, embedding->data)) {
    return;
  }
  const auto place = output - tensors_.data();
  tensors_.erase(tensors_.begin() + place);
  own_names_.erase(own_names_.begin() + place);
  index_.clear();
  for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

}  // namespace sluice::engine
