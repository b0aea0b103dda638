#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/model_config.h"
#include "engine/rank.h"
#include "engine/tensor_cut.h"
#include "engine/tensor_source.h"

namespace sluice::engine {

/// A rank's run of each of a model's tensors, as rank_config() asks for it. Of the matrices that make queries, keys,
/// values and the inside of a feed-forward network it has some rows, of those behind them as many columns; everything
/// else, and what no model asks for, is whole. Matrices that a file keeps in one are several here. Nothing is copied.
/// Movable; thread-safe.
class RankTensors final : public TensorSource {
 public:
  /// The source is lent. `config` is that of the whole model, which the rank's count can share. INVALID_ARGUMENT names
  /// a tensor that has another shape than it says, that is there twice, or whose blocks would have to be cut.
  static Result<RankTensors> make(const TensorSource& source, const ModelConfig& config, const Rank& rank);

  const std::string& path() const override { return source_->path(); }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find_tensor(std::string_view name) const override;
  std::string spelling(std::string_view name) const override;
  void drop_pages() const override { source_->drop_pages(); }

 private:
  /// How ranks share a tensor that every layer has.
  struct Share {
    std::vector<int64_t> shape;  ///< of the whole
    size_t dimension = 0;        ///< that each rank has a run of
  };
  /// A matrix that lies in a tensor with others, one below the other.
  struct Part {
    std::string_view name;  ///< behind the layer's prefix
    int64_t rows = 0;
  };

  RankTensors(const TensorSource& source, const Rank& rank) : source_(&source), rank_(rank) {}

  static std::map<std::string, Share, std::less<>> shares_of(const ModelConfig& config);
  Status add(const StoredTensor& stored, const ModelConfig& config);
  Status add_parts(const StoredTensor& stored, const std::string& prefix, std::span<const Part> parts, int64_t width);
  Status add_share(const StoredTensor& stored, const Share& share);
  Status put(const std::string& name, StoredTensor tensor, std::string_view stored_name);

  const TensorSource* source_;
  Rank rank_;
  std::map<std::string, Share, std::less<>> shares_;  // by name behind the layer's prefix
  std::deque<TensorCut> cuts_;
  std::deque<std::string> names_;               // what tensors_ and index_ look into
  std::vector<StoredTensor> tensors_;           // in the files' order
  std::vector<std::string_view> stored_names_;  // [tensors_], of what they are taken from
  std::map<std::string_view, size_t> index_;    // name to place in tensors_
};

}  // namespace sluice::engine
