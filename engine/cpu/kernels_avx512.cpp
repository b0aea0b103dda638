#include <immintrin.h>

#include "engine/cpu/kernels_generic.h"

namespace sluice::engine::cpu {
namespace {

struct Avx512 {
  using Float = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kColumns = 8;
  static constexpr int kQueries = 4;

  static Float set(float x) { return _mm512_set1_ps(x); }
  static Float load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Float x) { _mm512_storeu_ps(to, x); }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float div(Float a, Float b) { return _mm512_div_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float min(Float a, Float b) { return _mm512_min_ps(a, b); }
  static Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float abs(Float x) { return _mm512_abs_ps(x); }
  static Float round(Float x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Float power_of_two(Float n) { return _mm512_scalef_ps(_mm512_set1_ps(1.0F), n); }
  static float sum_of(Float x) { return _mm512_reduce_add_ps(x); }
  static float max_of(Float x) { return _mm512_reduce_max_ps(x); }

  static __m256i load_halves(const uint16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Float load_f16(const uint16_t* from) { return _mm512_cvtph_ps(load_halves(from)); }
  static Float load_bf16(const uint16_t* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(from)), 16));
  }
  static __m256i round_to_bf16(Float x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
  }
  static void store_f16(uint16_t* to, Float x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store_bf16(uint16_t* to, Float x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), round_to_bf16(x));
  }
  static uint16_t to_f16(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
  static uint16_t to_bf16(float x) {
    return static_cast<uint16_t>(_mm_extract_epi16(_mm256_castsi256_si128(round_to_bf16(set(x))), 0));
  }
  static void store_int8(int8_t* to, Float x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  }
};

int32_t load_i32(const int8_t* from) {
  int32_t value = 0;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

__m512i load_512(const std::byte* from) {
  return _mm512_loadu_si512(from);
}

__m512 load_scales(const std::byte* from) {
  return Avx512::load_f16(reinterpret_cast<const uint16_t*>(from));
}

// vpdpbusd multiplies unsigned weights with signed activations, four neighbours of k at a time in each row's lane. Two
// chains, as each takes the previous sum.
__m512i dot_block(const __m512i (&weights)[8], const int8_t* x, int32_t offset) {
  __m512i even = _mm512_set1_epi32(offset);
  __m512i odd = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    even = _mm512_dpbusd_epi32(even, weights[i], _mm512_set1_epi32(load_i32(x + 4 * i)));
    odd = _mm512_dpbusd_epi32(odd, weights[i + 1], _mm512_set1_epi32(load_i32(x + 4 * i + 4)));
  }
  return _mm512_add_epi32(even, odd);
}

struct Q4_0 {
  static constexpr int64_t kBytes = kQ4_0BlockBytes;
  static constexpr bool kHasMinimum = true;
  static constexpr bool kHasOffset = false;
  static void load_weights(const std::byte* block, __m512i (&weights)[8]) {
    const __m512i mask = _mm512_set1_epi8(0x0f);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i both = load_512(block + 64 * i);
      weights[2 * i] = _mm512_and_si512(both, mask);
      weights[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
    }
  }
  static __m512 scale(const std::byte* block) {
    return load_scales(block + 256);
  }
  static __m512 minimum(const std::byte* block) {
    return _mm512_mul_ps(scale(block), _mm512_set1_ps(-8.0F));
  }
};

struct Q4_1 : Q4_0 {
  static constexpr int64_t kBytes = kQ4_1BlockBytes;
  static __m512 minimum(const std::byte* block) { return load_scales(block + 288); }
};

struct Q8_0 {
  static constexpr int64_t kBytes = kQ8_0BlockBytes;
  static constexpr bool kHasMinimum = false;
  static constexpr bool kHasOffset = true;  // weights are stored plus 128: take 128 * sum(x) off again
  static void load_weights(const std::byte* block, __m512i (&weights)[8]) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) weights[i] = load_512(block + 64 * i);
  }
  static __m512 scale(const std::byte* block) {
    return load_scales(block + 512);
  }
  static __m512 minimum(const std::byte* /*block*/) {
    return _mm512_setzero_ps();
  }
};

template <typename Format>
void dot_quant(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  const int32_t blocks = columns.length / kQuantBlock;
  for_each_tile<8>(count, [&](auto tile, int32_t begin) {
    constexpr int kTile = decltype(tile)::kSize;
    const int8_t* values = columns.values + int64_t{begin} * columns.length;
    const int64_t first = int64_t{begin} * blocks;
    __m512 totals[kTile];
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) totals[c] = _mm512_setzero_ps();
    for (int32_t b = 0; b < blocks; ++b) {
      const std::byte* block = panel + b * Format::kBytes;
      // A few blocks ahead: one stream per thread is what the hardware prefetcher loses at the page's end.
      for (int64_t line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block + 2048 + line);
      __m512i weights[8];
      Format::load_weights(block, weights);
      const __m512 scale = Format::scale(block);
      const __m512 minimum = Format::minimum(block);
#pragma GCC unroll 8
      for (int c = 0; c < kTile; ++c) {
        const int64_t place = first + int64_t{c} * blocks + b;
        const int8_t* x = values + int64_t{c} * columns.length + b * kQuantBlock;
        const __m512i dot = dot_block(weights, x, Format::kHasOffset ? columns.offsets[place] : 0);
        const __m512 both_scales = _mm512_mul_ps(scale, _mm512_set1_ps(columns.scales[place]));
        totals[c] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), both_scales, totals[c]);
        if constexpr (Format::kHasMinimum) {
          totals[c] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(columns.sums[place]), totals[c]);
        }
      }
    }
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) _mm512_storeu_ps(out + (begin + c) * kPanelRows, totals[c]);
  });
}

constexpr Kernels kKernels =
    make_kernels<Avx512>(Activations::kInt8, dot_quant<Q4_0>, dot_quant<Q4_1>, dot_quant<Q8_0>);

}  // namespace

const Kernels& avx512_kernels() {
  return kKernels;
}

}  // namespace sluice::engine::cpu
