#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

const Kernels& kernels_for(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kAvx512:
      return avx512_kernels();
    case CpuIsa::kAvx2:
      return avx2_kernels();
    case CpuIsa::kPortable:
      break;
  }
  return portable_kernels();
}

// Keys and values of one chunk as floats, then per query head its running softmax and its scores. See Attention in
// kernels_generic.h.
int64_t attend_scratch_floats(int32_t group, int32_t head_dim) {
  const int64_t padded_dim = (head_dim + 15) / 16 * 16;
  const int64_t queries = int64_t{kQueryTokens} * group;
  return int64_t{kKeyChunk} * head_dim + kKeyChunk * padded_dim + queries * (padded_dim + 2 + kKeyChunk);
}

}  // namespace sluice::engine::cpu
