#include "engine/cpu/kernels.h"

#include <algorithm>

#include "engine/cpu/prompt_attention_layout.h"

namespace sluice::engine::cpu {

void need_nothing() {}

const Kernels& kernels_for(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kAmx:
      return amx_kernels();
    case CpuIsa::kAvx512:
      return avx512_kernels();
    case CpuIsa::kAvx2:
      return avx2_kernels();
    case CpuIsa::kPortable:
      break;
  }
  return portable_kernels();
}

// Keys and values of one span as floats and their scales, then each query's scores and two partial results. See
// Attention in attention_kernels.h.
int64_t attend_scratch_floats(int32_t group, int32_t head_dim) {
  const int32_t queries = kQueryTokens * group;
  const int64_t floats = int64_t{kKeySpan} * (head_dim + padded_head_dim(head_dim) + 2) + int64_t{queries} * kKeySpan +
                         2 * attend_partial_floats(queries, head_dim);
  return std::max(floats, PromptAttentionLayout(queries, head_dim).floats);
}

}  // namespace sluice::engine::cpu
