#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/hf_names.h"
#include "engine/safetensors.h"
#include "engine/tensor_source.h"

namespace sluice::engine {

/// The weights of a Hugging Face folder: model.safetensors, or the shards that model.safetensors.index.json lists.
/// Movable; thread-safe once open.
class HfWeights final : public TensorSource {
 public:
  /// Errors name the file and the tensor. A tensor that the index lists and its shard lacks is one, and so is one that
  /// two shards have; shards are files of the folder itself.
  static Result<HfWeights> open(const std::string& folder, const HfNames& names);

  const std::string& path() const override { return folder_; }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find_tensor(std::string_view name) const override;
  std::string spelling(std::string_view name) const override;
  void drop_pages() const override;

  /// Takes back a stored output matrix that repeats the embedding byte for byte, so that they share memory.
  void drop_equal_output();

 private:
  HfWeights(std::string folder, const HfNames& names) : folder_(std::move(folder)), names_(names) {}

  Status add_file(const std::string& file_name);
  Status add_shards(const std::string& index_path);
  Status add_tensor(const SafetensorsFile& file, const SafetensorsEntry& entry);

  std::string folder_;
  HfNames names_;
  std::deque<SafetensorsFile> files_;
  std::deque<std::string> gguf_names_;        // of all tensors; what tensors_ and index_ look into
  std::vector<StoredTensor> tensors_;         // in the files' order
  std::vector<std::string_view> own_names_;   // [tensors_], as the files have them
  std::map<std::string_view, size_t> index_;  // GGUF's name to place in tensors_
};

}  // namespace sluice::engine
