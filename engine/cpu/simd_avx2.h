#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

// Included by the file that is compiled for AVX2 alone.

namespace sluice::engine::cpu {

/// 8 lanes of AVX2, FMA and F16C. What each operation does is defined by Emulated (simd_emulated.h), to which it is
/// bit-equal.
struct Avx2 {
  static constexpr int kLanes = 8;
  static constexpr int kColumns = 4;  ///< columns of a product whose sums fit the registers
  static constexpr int kQueries = 3;  ///< queries of an attention tile
  static constexpr int kParts = 4;    ///< registers per query of an attention tile

  using Float = __m256;
  using Int = __m256i;
  using Bytes = __m256i;
  using Pairs = __m256i;

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
  static Float zero_unless_at_least(Float value, Float x, Float floor) {
    return _mm256_and_ps(value, _mm256_cmp_ps(x, floor, _CMP_GE_OQ));
  }
  static Float swap_neighbours(Float x) { return _mm256_permute_ps(x, 0b10110001); }
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

  static Float load_f16(const uint16_t* from) { return _mm256_cvtph_ps(load_halves(from)); }
  static Float load_bf16(const uint16_t* from) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(from)), 16));
  }
  static Float load_int8(const int8_t* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
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

  static Int set_int(int32_t x) { return _mm256_set1_epi32(x); }
  static Int add_int(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Float to_float(Int x) { return _mm256_cvtepi32_ps(x); }
  static Bytes load_bytes(const std::byte* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Bytes mask(Bytes x, int byte) { return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(byte))); }
  static Bytes or_masked(Bytes x, Bytes y, int byte) { return _mm256_or_si256(x, mask(y, byte)); }
  template <int kBits>
  static Bytes shift(Bytes x) {
    if constexpr (kBits > 0) return _mm256_slli_epi16(x, kBits);
    if constexpr (kBits < 0) return _mm256_srli_epi16(x, -kBits);
    return x;
  }
  static Bytes look_up(const uint8_t* table, Bytes x) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))),
                               x);
  }
  static Bytes repeat_4(const int8_t* from) {
    int32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm256_set1_epi32(four);
  }
  static Bytes flip_signs(Bytes x) { return _mm256_xor_si256(x, _mm256_set1_epi8(-128)); }
  static Bytes abs_bytes(Bytes x) { return _mm256_abs_epi8(x); }
  static Bytes with_sign(Bytes x, Bytes sign) { return _mm256_sign_epi8(x, sign); }
  static Pairs dot_2(Bytes unsigned_bytes, Bytes signed_bytes) {
    return _mm256_maddubs_epi16(unsigned_bytes, signed_bytes);
  }
  static Pairs add_pairs(Pairs a, Pairs b) { return _mm256_add_epi16(a, b); }
  static Int sum_pairs(Pairs x) { return _mm256_madd_epi16(x, _mm256_set1_epi16(1)); }

 private:
  static __m128i load_halves(const uint16_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
  static __m128i round_to_bf16(Float x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i high = _mm256_srli_epi32(rounded, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
  }
};

}  // namespace sluice::engine::cpu
