#include "engine/cuda/cuda_support.h"

#include <string>

namespace sluice::engine::cuda {
namespace {

template <int32_t... kSizes>
bool has(int32_t size, std::integer_sequence<int32_t, kSizes...> /*sizes*/) {
  return ((size == kSizes) || ...);
}

bool is_cached(KvType type) {
  return type == KvType::kBf16 || type == KvType::kF16 || type == KvType::kFp8;
}

}  // namespace

Status no_such_heads(int32_t head_dim) {
  return failed_precondition("heads of " + std::to_string(head_dim) + " elements can't be had on CUDA");
}

Status no_such_cache(KvType type) {
  return failed_precondition("kv.dtype " + std::string(kv_type_name(type)) +
                             " can't be had on CUDA; use bf16, f16 or fp8");
}

Status check_block_size(int32_t block_size) {
  if (block_size % kBlockMultiple == 0) return {};
  return failed_precondition("kv.block_size " + std::to_string(block_size) +
                             " can't be had on CUDA; use a multiple of " + std::to_string(kBlockMultiple));
}

Status check_experts(int32_t count, int32_t per_token) {
  if (count > kExpertCountMax)
    return failed_precondition(std::to_string(count) + " experts can't be had on CUDA, " +
                               std::to_string(kExpertCountMax) + " at most");
  if (per_token > kExpertsPerTokenMax)
    return failed_precondition(std::to_string(per_token) + " experts for a token can't be had on CUDA, " +
                               std::to_string(kExpertsPerTokenMax) + " at most");
  return {};
}

Status check_support(const ModelConfig& model, KvType type, int32_t block_size) {
  SLUICE_RETURN_IF_ERROR(check_experts(model.experts.count, model.experts.per_token));
  if (model.width > kWidthMax)
    return failed_precondition("vectors of " + std::to_string(model.width) + " elements can't be had on CUDA, " +
                               std::to_string(kWidthMax) + " at most");
  if (!has(model.head_dim, HeadDims{})) return no_such_heads(model.head_dim);
  if (!is_cached(type)) return no_such_cache(type);
  return check_block_size(block_size);
}

}  // namespace sluice::engine::cuda
