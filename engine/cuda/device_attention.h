#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/device.h"
#include "engine/cuda/kernels/decode_partials.cuh"
#include "engine/cuda/kernels/norm_weight.cuh"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_shape.h"
#include "engine/cuda/step_status.h"
#include "engine/kv_layout.h"

namespace sluice::engine::cuda {

/// One layer's attention; what Backend::attend does.
struct AttentionCall {
  AttentionParams params;
  NormWeight query_norm;
  NormWeight key_norm;
  const float* qkv = nullptr;     // [tokens, (heads + 2 * kv_heads) * head_dim]
  const float* angles = nullptr;  // [tokens, rope_dim / 2, 2] cosines and sines of the layer's rope
  int32_t rope_dim = 0;
  bool is_pairwise = true;
  float* out = nullptr;       // [tokens, heads * head_dim]
  void* queries = nullptr;    // [tokens, heads * head_dim] of the queries' type, for the call alone
  float* partials = nullptr;  // of partials_bytes(), for the call alone
};

/// Decode rows that are computed at once, each in parts of its keys.
constexpr int32_t kDecodeRowsMax = 256;
constexpr SplitLimits kDecodeSplits{.keys_min = 256, .splits_max = 32};

/// Room for the parts of steps of up to `tokens_max` tokens.
inline int64_t partials_bytes(int32_t tokens_max, int32_t head_count, int32_t head_dim) {
  return static_cast<int64_t>(sizeof(float)) *
         workspace_floats(std::min(tokens_max, kDecodeRowsMax), kDecodeSplits.splits_max, head_count, head_dim);
}

/// The paged cache in one type, and attention over it.
class PagedAttention {
 public:
  virtual ~PagedAttention() = default;

  virtual Status allocate(const KvLayout& layout, int32_t block_count) = 0;
  virtual void attend(const AttentionCall& call, const StepShape& shape, const StepInputs& inputs,
                      StepStatus& status) = 0;
};

/// Turns heads, keeps the cache and attends.
class DeviceAttention {
 public:
  /// The device outlives it. `element` is that of the backend's products.
  DeviceAttention(Device& device, Element element) : device_(device), element_(element) {}

  RopeId add_rope(const RopeParams& params);
  /// What add_cache() takes beside the cache, at most.
  int64_t angle_bytes(int32_t tokens_max) const;
  /// FAILED_PRECONDITION for a type of keys and values or a size of heads that there are no kernels for.
  Status add_cache(const KvLayout& layout, int32_t block_count, int32_t tokens_max);

  /// The angles of the step's tokens.
  void begin_step(const StepShape& shape, const StepInputs& inputs, StepStatus& status);
  /// All of `call` but its angles is set.
  void attend(AttentionCall call, const StepShape& shape, const StepInputs& inputs, StepStatus& status);

 private:
  struct Rope {
    RopeParams params;
    DeviceBuffer frequencies;  // double [pairs]
    DeviceBuffer angles;       // float [tokens_max, pairs, 2]
  };

  Device& device_;
  const Element element_;
  std::vector<Rope> ropes_;
  std::unique_ptr<PagedAttention> paged_;
};

}  // namespace sluice::engine::cuda
