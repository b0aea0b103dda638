#include "engine/cpu/dot_bytes.h"
#include "engine/cpu/kernel_table.h"
#include "engine/cpu/simd_avx512.h"

namespace sluice::engine::cpu {

const Kernels& avx512_kernels() {
  static constexpr Kernels kKernels = make_kernels<Avx512>({.q4_0 = dot_bytes<Avx512, Q4_0Bytes<Avx512>>,
                                                            .q4_1 = dot_bytes<Avx512, Q4_1Bytes<Avx512>>,
                                                            .q5_1 = dot_bytes<Avx512, Q5_1Bytes<Avx512>>,
                                                            .q8_0 = dot_bytes<Avx512, Q8_0Bytes<Avx512>>});
  return kKernels;
}

}  // namespace sluice::engine::cpu
