#include "tests/engine/emulated_kernels.h"

#include "base/check.h"
#include "engine/cpu/dot_bytes.h"
#include "engine/cpu/dot_pairs.h"
#include "engine/cpu/dot_prompt.h"
#include "engine/cpu/dot_tiles.h"
#include "engine/cpu/kernel_table.h"
#include "engine/cpu/prompt_attention.h"
#include "engine/cpu/simd_emulated.h"

namespace sluice::engine::cpu {
namespace {

struct Avx2Emulated : Emulated<8> {
  static constexpr int kColumns = 4;
  static constexpr int kQueries = 3;
  static constexpr int kParts = 4;
};

struct Avx512Emulated : Emulated<16> {
  static constexpr int kColumns = 8;
  static constexpr int kQueries = 6;
  static constexpr int kParts = 4;
};

constexpr Kernels kAvx2 = make_kernels<Avx2Emulated>(
    {.dot = per_quantized_type<Dot>([](auto type) { return dot_pairs<Avx2Emulated, decltype(type)::kType>; })});

constexpr Kernels kAvx512 = make_kernels<Avx512Emulated>(
    {.dot = per_quantized_type<Dot>([](auto type) { return dot_bytes<Avx512Emulated, decltype(type)::kType>; })});

constexpr Kernels make_amx() {
  Kernels kernels =
      make_kernels<Avx512Emulated>({.dot = per_quantized_type<Dot>([](auto type) {
                                      return dot_tiles<Avx512Emulated, EmulatedTiles, decltype(type)::kType>;
                                    })});
  kernels.prompt = prompt_products<Avx512Emulated, EmulatedTiles>();
  kernels.f16.attend_prompt = attend_prompt<Avx512Emulated, EmulatedTiles, F16>;
  kernels.bf16.attend_prompt = attend_prompt<Avx512Emulated, EmulatedTiles, Bf16>;
  kernels.int8.attend_prompt = attend_prompt<Avx512Emulated, EmulatedTiles, Int8>;
  return kernels;
}

constexpr Kernels kAmx = make_amx();

}  // namespace

const Kernels& emulated_kernels(CpuIsa isa) {
  SLUICE_CHECK(isa != CpuIsa::kPortable);
  if (isa == CpuIsa::kAvx2) return kAvx2;
  return isa == CpuIsa::kAvx512 ? kAvx512 : kAmx;
}

}  // namespace sluice::engine::cpu
