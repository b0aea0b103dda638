#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/machine_limits.h"
#include "engine/tensor_type.h"

namespace sluice::bench {

/// Which backend operations are measured on, and what their share is taken of.
struct OperationSetting {
  std::string isa;
  int32_t threads = 0;  ///< at least 1
  std::string kv_type = "f16";
  engine::MachineLimits limits;
};

/// Products of one shape over many matrices in turn, so that weights come from memory as they do in a model.
class ProductRig {
 public:
  ProductRig(const OperationSetting& setting, engine::TensorType type, int32_t rows, int32_t length, int32_t columns);

  /// One product; columns are drawn tokens up to kDrawnMax, tokens of a prompt above.
  void multiply();
  int64_t weight_bytes() const { return weight_bytes_; }  ///< of a matrix, as it lies in memory

 private:
  static constexpr int32_t kDrawnMax = 64;
  static constexpr int64_t kWeightsTotal = int64_t{96} << 20;

  std::unique_ptr<engine::Backend> backend_;
  std::vector<engine::MatrixId> matrices_;
  engine::ActivationId in_;
  engine::ActivationId out_;
  engine::Batch batch_;
  int64_t weight_bytes_ = 0;
  size_t next_ = 0;
};

/// Attention of one token each of some rows, over layer after layer of a cache, with the default model's heads.
class AttentionRig {
 public:
  AttentionRig(const OperationSetting& setting, int32_t rows, int32_t context);

  void attend();
  int64_t cache_bytes() const { return cache_bytes_; }  ///< read by one call

 private:
  static constexpr int32_t kLayers = 30;
  static constexpr int32_t kHeads = 9;

  std::unique_ptr<engine::Backend> backend_;
  engine::ActivationId qkv_;
  engine::ActivationId out_;
  engine::RopeId rope_;
  engine::Batch batch_;
  int64_t cache_bytes_ = 0;
  int32_t layer_ = 0;
};

}  // namespace sluice::bench
