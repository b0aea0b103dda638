#include "engine/cpu/dot_bytes.h"
#include "engine/cpu/kernel_table.h"
#include "engine/cpu/simd_avx512.h"

namespace sluice::engine::cpu {

const Kernels& avx512_kernels() {
  static constexpr Kernels kKernels = make_kernels<Avx512>(
      {.dot = per_quantized_type<Dot>([](auto type) { return dot_bytes<Avx512, decltype(type)::kType>; })});
  return kKernels;
}

}  // namespace sluice::engine::cpu
