#include "engine/cpu/dot_pairs.h"
#include "engine/cpu/kernel_table.h"
#include "engine/cpu/simd_avx2.h"

namespace sluice::engine::cpu {

const Kernels& avx2_kernels() {
  static constexpr Kernels kKernels = make_kernels<Avx2>(
      {.dot = per_quantized_type<Dot>([](auto type) { return dot_pairs<Avx2, decltype(type)::kType>; })});
  return kKernels;
}

}  // namespace sluice::engine::cpu
