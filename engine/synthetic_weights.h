#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/hf_config.h"
#include "engine/random_rows.h"
#include "engine/tensor_source.h"

namespace sluice::engine {

/// Random weights of a model's shapes, which are made whenever they are read and lie nowhere. Matrices are spread so
/// that a product is as large as what goes in, norms are 1; so activations stay of ordinary size. The same
/// configuration and type give the same weights. Movable; thread-safe.
class SyntheticWeights final : public TensorSource {
 public:
  /// `path` is for messages. Matrices are of `type`; vectors, and routers beside a quantised type, are F32.
  /// INVALID_ARGUMENT when some matrix's rows are no whole blocks of the type.
  static Result<SyntheticWeights> make(std::string path, const HfConfig& config, TensorType type);

  const std::string& path() const override { return path_; }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find_tensor(std::string_view name) const override;
  std::string spelling(std::string_view name) const override { return std::string(name); }
  void drop_pages() const override {}

 private:
  SyntheticWeights(std::string path, TensorType type) : path_(std::move(path)), type_(type) {}

  /// The rows of all tensors of one kind; each tensor takes the next ones.
  struct Rows {
    std::unique_ptr<RandomRows> maker;
    int64_t taken = 0;
  };

  void add_ends(const ModelConfig& config, bool ties_embeddings);
  void add_layer(const ModelConfig& config, const std::string& prefix);
  void add_attention(const ModelConfig& config, const std::string& prefix);
  void add_feed_forward(const ModelConfig& config, const std::string& prefix);
  void add_matrix(const std::string& name, std::vector<int64_t> shape) { add_matrix(name, type_, std::move(shape)); }
  void add_matrix(const std::string& name, TensorType type, std::vector<int64_t> shape);
  void add_norm(const ModelConfig& config, const std::string& name, int64_t length);
  void add_bias(const std::string& name, int64_t length);
  void add(const std::string& name, TensorType type, std::vector<int64_t> shape, WeightSpread spread);
  Rows& rows_for(TensorType type, int64_t row_length, WeightSpread spread);

  std::string path_;
  TensorType type_;
  std::map<std::tuple<TensorType, int64_t, float, float>, Rows> rows_;  // by what RandomRows is made of
  std::deque<std::string> names_;                                       // what tensors_ and index_ look into
  std::vector<StoredTensor> tensors_;
  std::map<std::string_view, size_t> index_;
};

}  // namespace sluice::engine
