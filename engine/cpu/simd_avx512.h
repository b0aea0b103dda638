#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

// Included by the files that are compiled for AVX-512 alone.

namespace sluice::engine::cpu {

/// 16 lanes of AVX-512 F, BW, DQ, VL and VNNI. What each operation does is defined by Emulated (simd_emulated.h), to
/// which it is bit-equal.
struct Avx512 {
  static constexpr int kLanes = 16;
  static constexpr int kColumns = 8;  ///< columns of a product whose sums fit the registers
  static constexpr int kQueries = 6;  ///< queries of an attention tile
  static constexpr int kParts = 4;    ///< registers per query of an attention tile

  using Float = __m512;
  using Int = __m512i;
  using Bytes = __m512i;

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
  static Float zero_unless_at_least(Float value, Float x, Float floor) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, floor, _CMP_GE_OQ), value);
  }
  static Float swap_neighbours(Float x) { return _mm512_permute_ps(x, 0b10110001); }
  static float sum_of(Float x) { return _mm512_reduce_add_ps(x); }
  static float max_of(Float x) { return _mm512_reduce_max_ps(x); }

  static Float load_f16(const uint16_t* from) { return _mm512_cvtph_ps(load_halves(from)); }
  static Float load_bf16(const uint16_t* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(from)), 16));
  }
  static Float load_int8(const int8_t* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
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

  static Int set_int(int32_t x) { return _mm512_set1_epi32(x); }
  static Int add_int(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int load_int(const int32_t* from) { return _mm512_loadu_si512(from); }
  static Float to_float(Int x) { return _mm512_cvtepi32_ps(x); }
  static Bytes load_bytes(const std::byte* from) { return _mm512_loadu_si512(from); }
  static void store_bytes(std::byte* to, Bytes x) { _mm512_storeu_si512(to, x); }
  static Bytes mask(Bytes x, int byte) { return _mm512_and_si512(x, _mm512_set1_epi8(static_cast<char>(byte))); }
  static Bytes or_masked(Bytes x, Bytes y, int byte) {
    return _mm512_ternarylogic_epi32(x, y, _mm512_set1_epi8(static_cast<char>(byte)), 0xf8);
  }
  template <int kBits>
  static Bytes shift(Bytes x) {
    if constexpr (kBits > 0) return _mm512_slli_epi16(x, kBits);
    if constexpr (kBits < 0) return _mm512_srli_epi16(x, -kBits);
    return x;
  }
  static Bytes look_up(const uint8_t* table, Bytes x) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), x);
  }
  static Float byte_of(Bytes x, int byte) {
    // Moves the byte down and clears the others: an index with its top bit set gives 0.
    const __m512i lanes = _mm512_set_epi32(12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4, 0);
    const __m512i index = _mm512_or_si512(_mm512_add_epi32(lanes, _mm512_set1_epi32(byte)), _mm512_set1_epi32(-256));
    return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(x, index));
  }
  static void store_bf16_pairs(uint16_t* to, Float first, Float second) {
    const __m512i half = _mm512_set1_epi32(0x8000);
    const __m512i low = _mm512_srli_epi32(_mm512_add_epi32(_mm512_castps_si512(first), half), 16);
    const __m512i high = _mm512_add_epi32(_mm512_castps_si512(second), half);
    // (high & 0xffff0000) | low
    _mm512_storeu_si512(to, _mm512_ternarylogic_epi32(high, _mm512_set1_epi32(-65536), low, 0xea));
  }
  static Bytes repeat_4(const int8_t* from) {
    int32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm512_set1_epi32(four);
  }
  static Int dot_4(Int sums, Bytes unsigned_bytes, Bytes signed_bytes) {
    return _mm512_dpbusd_epi32(sums, unsigned_bytes, signed_bytes);
  }

 private:
  static __m256i load_halves(const uint16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static __m256i round_to_bf16(Float x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
  }
};

}  // namespace sluice::engine::cpu
