#include "engine/cpu/dot_prompt.h"
#include "engine/cpu/dot_tiles.h"
#include "engine/cpu/elementwise_kernels.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/prompt_attention.h"
#include "engine/cpu/simd_amx.h"
#include "engine/cpu/simd_avx512.h"

namespace sluice::engine::cpu {
namespace {

constexpr QuantizedProducts kDecode = {
    .dot = per_quantized_type<Dot>([](auto type) { return dot_tiles<Avx512, AmxTiles, decltype(type)::kType>; }),
    .begin = AmxTiles::begin_bytes,
    .end = AmxTiles::end};
constexpr PromptProducts kPrompt = prompt_products<Avx512, AmxTiles>();

}  // namespace

// What has no use for tiles is avx512_kernels()'s: one copy of each kernel.
const Kernels& amx_kernels() {
  static const Kernels kKernels = [] {
    Kernels kernels = avx512_kernels();
    kernels.decode = kDecode;
    kernels.prompt = kPrompt;
    kernels.to_halves = to_halves<Avx512Bf16>;
    kernels.f16.attend_prompt = attend_prompt<Avx512Bf16, AmxTiles, F16>;
    kernels.bf16.attend_prompt = attend_prompt<Avx512Bf16, AmxTiles, Bf16>;
    kernels.int8.attend_prompt = attend_prompt<Avx512Bf16, AmxTiles, Int8>;
    return kernels;
  }();
  return kKernels;
}

}  // namespace sluice::engine::cpu
