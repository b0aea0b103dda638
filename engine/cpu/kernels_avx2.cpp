#include "engine/cpu/dot_pairs.h"
#include "engine/cpu/kernel_table.h"
#include "engine/cpu/simd_avx2.h"

namespace sluice::engine::cpu {

const Kernels& avx2_kernels() {
  static constexpr Kernels kKernels = make_kernels<Avx2>({.q4_0 = dot_pairs<Avx2, Q4_0Pairs<Avx2>>,
                                                          .q4_1 = dot_pairs<Avx2, Q4_1Pairs<Avx2>>,
                                                          .q5_1 = dot_pairs<Avx2, Q5_1Pairs<Avx2>>,
                                                          .q8_0 = dot_pairs<Avx2, Q8_0Pairs<Avx2>>});
  return kKernels;
}

}  // namespace sluice::engine::cpu
