#include <immintrin.h>

#include "engine/cpu/kernels_generic.h"

namespace sluice::engine::cpu {
namespace {

struct Avx2 {
  using Float = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kColumns = 4;
  static constexpr int kQueries = 2;

  static Float set(float x) { return _mm256_set1_ps(x); }
  static Float load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Float x) { _mm256_storeu_ps(to, x); }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float div(Float a, Float b) { return _mm256_div_ps(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float min(Float a, Float b) { return _mm256_min_ps(a, b); }
  static Float max(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float abs(Float x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x); }
  static Float round(Float x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Float power_of_two(Float n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  static float sum_of(Float x) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
  }
  static float max_of(Float x) {
    __m128 top = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    top = _mm_max_ps(top, _mm_movehl_ps(top, top));
    return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
  }

  static __m128i load_halves(const uint16_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
  static Float load_f16(const uint16_t* from) { return _mm256_cvtph_ps(load_halves(from)); }
  static Float load_bf16(const uint16_t* from) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(from)), 16));
  }
  static __m128i round_to_bf16(Float x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i high = _mm256_srli_epi32(rounded, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
  }
  static void store_f16(uint16_t* to, Float x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store_bf16(uint16_t* to, Float x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), round_to_bf16(x)); }
  static uint16_t to_f16(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
  static uint16_t to_bf16(float x) { return static_cast<uint16_t>(_mm_extract_epi16(round_to_bf16(set(x)), 0)); }
  static void store_int8(int8_t* to, Float x) {
    const __m256i integers = _mm256_cvtps_epi32(x);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
  }
};

__m256i broadcast_4(const int8_t* from) {
  int32_t value = 0;
  __builtin_memcpy(&value, from, sizeof(value));
  return _mm256_set1_epi32(value);
}

__m256i load_256(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

__m256 load_scales(const std::byte* from) {
  return Avx2::load_f16(reinterpret_cast<const uint16_t*>(from));
}

// A panel's 16 rows are two halves of 8, one register lane each.

struct Q4_0 {
  static constexpr int64_t kBytes = kQ4_0BlockBytes;
  static constexpr bool kHasMinimum = true;
  using Weights = __m256i[8];

  static void load_weights(const std::byte* block, int half, Weights& weights) {
    const __m256i mask = _mm256_set1_epi8(0x0f);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256i both = load_256(block + 64 * i + 32 * half);
      weights[2 * i] = _mm256_and_si256(both, mask);
      weights[2 * i + 1] = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
    }
  }
  // Eight products of pairs fit 16 bits: 8 * 2 * 15 * 127 = 30480.
  static __m256i dot(const Weights& weights, const int8_t* x) {
    __m256i pairs = _mm256_maddubs_epi16(weights[0], broadcast_4(x));
#pragma GCC unroll 8
    for (int i = 1; i < 8; ++i) {
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(weights[i], broadcast_4(x + 4 * i)));
    }
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  static __m256 scale(const std::byte* block, int half) {
    return load_scales(block + 256 + 16 * half);
  }
  static __m256 minimum(const std::byte* block, int half) {
    return _mm256_mul_ps(scale(block, half), _mm256_set1_ps(-8.0F));
  }
};

struct Q4_1 : Q4_0 {
  static constexpr int64_t kBytes = kQ4_1BlockBytes;
  static __m256 minimum(const std::byte* block, int half) { return load_scales(block + 288 + 16 * half); }
};

struct Q8_0 {
  static constexpr int64_t kBytes = kQ8_0BlockBytes;
  static constexpr bool kHasMinimum = false;
  using Weights = __m256i[8];

  static void load_weights(const std::byte* block, int half, Weights& weights) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      weights[i] = _mm256_xor_si256(load_256(block + 64 * i + 32 * half), _mm256_set1_epi8(-128));
    }
  }
  // maddubs wants one unsigned side: |w| with the sign moved to x. |w| <= 128 and |x| <= 127, so a pair fits 16 bits: 2
  // * 128 * 127 = 32512, but no second one.
  static __m256i dot(const Weights& weights, const int8_t* x) {
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const __m256i pairs =
          _mm256_maddubs_epi16(_mm256_abs_epi8(weights[i]), _mm256_sign_epi8(broadcast_4(x + 4 * i), weights[i]));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    return sum;
  }
  static __m256 scale(const std::byte* block, int half) {
    return load_scales(block + 512 + 16 * half);
  }
  static __m256 minimum(const std::byte* /*block*/, int /*half*/) {
    return _mm256_setzero_ps();
  }
};

template <typename Format, int kTile>
void dot_half(const std::byte* panel, const Columns& columns, int32_t begin, int half, float* out) {
  const int32_t blocks = columns.length / kQuantBlock;
  const int8_t* values = columns.values + int64_t{begin} * columns.length;
  const int64_t first = int64_t{begin} * blocks;
  __m256 totals[kTile];
  for (int c = 0; c < kTile; ++c) totals[c] = _mm256_setzero_ps();
  for (int32_t b = 0; b < blocks; ++b) {
    const std::byte* block = panel + b * Format::kBytes;
    typename Format::Weights weights;
    Format::load_weights(block, half, weights);
    const __m256 scale = Format::scale(block, half);
    const __m256 minimum = Format::minimum(block, half);
#pragma GCC unroll 8
    for (int c = 0; c < kTile; ++c) {
      const int64_t place = first + int64_t{c} * blocks + b;
      const __m256i dot = Format::dot(weights, values + int64_t{c} * columns.length + b * kQuantBlock);
      const __m256 both_scales = _mm256_mul_ps(scale, _mm256_set1_ps(columns.scales[place]));
      totals[c] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), both_scales, totals[c]);
      if constexpr (Format::kHasMinimum) {
        totals[c] = _mm256_fmadd_ps(minimum, _mm256_set1_ps(columns.sums[place]), totals[c]);
      }
    }
  }
  for (int c = 0; c < kTile; ++c) _mm256_storeu_ps(out + (begin + c) * kPanelRows + 8 * half, totals[c]);
}

template <typename Format>
void dot_quant(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  for_each_tile<8>(count, [&](auto tile, int32_t begin) {
    dot_half<Format, decltype(tile)::kSize>(panel, columns, begin, 0, out);
    dot_half<Format, decltype(tile)::kSize>(panel, columns, begin, 1, out);
  });
}

constexpr Kernels kKernels = make_kernels<Avx2>(Activations::kInt8, dot_quant<Q4_0>, dot_quant<Q4_1>, dot_quant<Q8_0>);

}  // namespace

const Kernels& avx2_kernels() {
  return kKernels;
}

}  // namespace sluice::engine::cpu
