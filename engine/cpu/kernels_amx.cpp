#include "engine/cpu/dot_tiles.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/simd_amx.h"
#include "engine/cpu/simd_avx512.h"

namespace sluice::engine::cpu {

// What has no use for tiles is avx512_kernels()'s: one copy of each kernel.
const Kernels& amx_kernels() {
  static const Kernels kKernels = [] {
    Kernels kernels = avx512_kernels();
    kernels.begin_products = AmxTiles::begin;
    kernels.end_products = AmxTiles::end;
    kernels.dot_q4_0 = dot_tiles<Avx512, AmxTiles, Q4_0Bytes<Avx512>>;
    kernels.dot_q4_1 = dot_tiles<Avx512, AmxTiles, Q4_1Bytes<Avx512>>;
    kernels.dot_q8_0 = dot_tiles<Avx512, AmxTiles, Q8_0Bytes<Avx512>>;
    return kernels;
  }();
  return kKernels;
}

}  // namespace sluice::engine::cpu
