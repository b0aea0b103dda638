#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/cpu/kernels.h"
#include "engine/tensor_type.h"

// The definition of the vector wrapper: each operation in plain C++, for any machine. Kernels written against it give
// the same bits here as on the instruction set it stands for, so that each of them is tested everywhere.

namespace sluice::engine::cpu {

/// Registers of 4 * Lanes bytes. Lanes is a power of two.
template <int Lanes>
struct Emulated {
  static constexpr int kLanes = Lanes;

  using Float = std::array<float, Lanes>;
  using Int = std::array<int32_t, Lanes>;
  using Bytes = std::array<uint8_t, 4 * Lanes>;
  using Pairs = std::array<int16_t, 2 * Lanes>;

  static Float set(float x) {
    Float result;
    result.fill(x);
    return result;
  }
  static Float load(const float* from) {
    Float result;
    std::memcpy(result.data(), from, sizeof(result));
    return result;
  }
  static void store(float* to, const Float& x) { std::memcpy(to, x.data(), sizeof(x)); }
  static Float add(const Float& a, const Float& b) {
    return each<float>([&](size_t i) { return a[i] + b[i]; });
  }
  static Float sub(const Float& a, const Float& b) {
    return each<float>([&](size_t i) { return a[i] - b[i]; });
  }
  static Float mul(const Float& a, const Float& b) {
    return each<float>([&](size_t i) { return a[i] * b[i]; });
  }
  static Float div(const Float& a, const Float& b) {
    return each<float>([&](size_t i) { return a[i] / b[i]; });
  }
  /// a * b + c, rounded once.
  static Float fma(const Float& a, const Float& b, const Float& c) {
    return each<float>([&](size_t i) { return std::fma(a[i], b[i], c[i]); });
  }
  /// b where either is no number, as the instruction sets have it.
  static Float min(const Float& a, const Float& b) {
    return each<float>([&](size_t i) { return a[i] < b[i] ? a[i] : b[i]; });
  }
  static Float max(const Float& a, const Float& b) {
    return each<float>([&](size_t i) { return a[i] > b[i] ? a[i] : b[i]; });
  }
  static Float abs(const Float& x) {
    return each<float>([&](size_t i) { return std::fabs(x[i]); });
  }
  /// To the nearest integer, ties to even.
  static Float round(const Float& x) {
    return each<float>([&](size_t i) { return std::nearbyint(x[i]); });
  }
  /// 2^n for integers n in [-126, 127].
  static Float power_of_two(const Float& n) {
    return each<float>([&](size_t i) { return std::ldexp(1.0F, static_cast<int>(n[i])); });
  }
  /// value where x >= floor, else 0, also where x is no number.
  static Float zero_unless_at_least(const Float& value, const Float& x, const Float& floor) {
    return each<float>([&](size_t i) { return x[i] >= floor[i] ? value[i] : 0.0F; });
  }
  /// Lanes 2i and 2i + 1 change places.
  static Float swap_neighbours(const Float& x) {
    return each<float>([&](size_t i) { return x[i ^ 1]; });
  }
  /// Halves are added to each other until one lane is left.
  static float sum_of(Float x) {
    for (size_t half = Lanes / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) x[i] += x[i + half];
    }
    return x[0];
  }
  static float max_of(const Float& x) { return *std::max_element(x.begin(), x.end()); }

  static Float load_f16(const uint16_t* from) {
    return each<float>([&](size_t i) { return half_to_float(from[i]); });
  }
  static Float load_bf16(const uint16_t* from) {
    return each<float>([&](size_t i) { return bf16_to_float(from[i]); });
  }
  static Float load_int8(const int8_t* from) {
    return each<float>([&](size_t i) { return static_cast<float>(from[i]); });
  }
  static void store_f16(uint16_t* to, const Float& x) {
    for (size_t i = 0; i < Lanes; ++i) to[i] = float_to_half(x[i]);
  }
  static void store_bf16(uint16_t* to, const Float& x) {
    for (size_t i = 0; i < Lanes; ++i) to[i] = float_to_bf16(x[i]);
  }
  static uint16_t to_f16(float x) { return float_to_half(x); }
  static uint16_t to_bf16(float x) { return float_to_bf16(x); }
  /// Integers in [-128, 127].
  static void store_int8(int8_t* to, const Float& x) {
    for (size_t i = 0; i < Lanes; ++i) to[i] = static_cast<int8_t>(x[i]);
  }

  static Int set_int(int32_t x) {
    Int result;
    result.fill(x);
    return result;
  }
  static Int add_int(const Int& a, const Int& b) {
    return each<int32_t>([&](size_t i) { return a[i] + b[i]; });
  }
  static Int load_int(const int32_t* from) {
    Int result;
    std::memcpy(result.data(), from, sizeof(result));
    return result;
  }
  static Float to_float(const Int& x) {
    return each<float>([&](size_t i) { return static_cast<float>(x[i]); });
  }
  static Bytes load_bytes(const std::byte* from) {
    Bytes result;
    std::memcpy(result.data(), from, sizeof(result));
    return result;
  }
  static void store_bytes(std::byte* to, const Bytes& x) { std::memcpy(to, x.data(), sizeof(x)); }
  static Bytes mask(Bytes x, int byte) {
    for (uint8_t& each : x) each &= static_cast<uint8_t>(byte);
    return x;
  }
  /// x | (y & byte)
  static Bytes or_masked(Bytes x, const Bytes& y, int byte) {
    for (size_t i = 0; i < 4 * Lanes; ++i) x[i] |= static_cast<uint8_t>(y[i] & byte);
    return x;
  }
  /// To the left, or by less than 0 bits to the right, in units of 16 bits: what enters a byte is its neighbour's.
  template <int kBits>
  static Bytes shift(Bytes x) {
    for (size_t i = 0; i < 4 * Lanes; i += 2) {
      const int pair = x[i] | x[i + 1] << 8;
      const int shifted = kBits > 0 ? pair << std::max(kBits, 0) : pair >> std::max(-kBits, 0);
      x[i] = static_cast<uint8_t>(shifted);
      x[i + 1] = static_cast<uint8_t>(shifted >> 8);
    }
    return x;
  }
  /// table[x], for x below 16.
  static Bytes look_up(const uint8_t* table, Bytes x) {
    for (uint8_t& byte : x) byte = table[byte];
    return x;
  }
  /// Each lane's byte number `byte`.
  static Float byte_of(const Bytes& x, int byte) {
    return each<float>([&](size_t i) { return static_cast<float>(x[4 * i + static_cast<size_t>(byte)]); });
  }
  /// Lane by lane, first and then second, as the nearest bfloat16; halves away from zero.
  static void store_bf16_pairs(uint16_t* to, const Float& first, const Float& second) {
    for (size_t i = 0; i < Lanes; ++i) {
      to[2 * i] = static_cast<uint16_t>((std::bit_cast<uint32_t>(first[i]) + 0x8000U) >> 16);
      to[2 * i + 1] = static_cast<uint16_t>((std::bit_cast<uint32_t>(second[i]) + 0x8000U) >> 16);
    }
  }
  /// The same four bytes in every lane.
  static Bytes repeat_4(const int8_t* from) {
    Bytes result;
    for (size_t lane = 0; lane < Lanes; ++lane) std::memcpy(&result[4 * lane], from, 4);
    return result;
  }
  /// Each lane's sum grows by the products of its four unsigned bytes with its four signed ones.
  static Int dot_4(Int sums, const Bytes& unsigned_bytes, const Bytes& signed_bytes) {
    for (size_t i = 0; i < 4 * Lanes; ++i) sums[i / 4] += unsigned_bytes[i] * static_cast<int8_t>(signed_bytes[i]);
    return sums;
  }

  static Bytes flip_signs(Bytes x) {
    for (uint8_t& byte : x) byte ^= 0x80;
    return x;
  }
  /// 128 for -128.
  static Bytes abs_bytes(Bytes x) {
    for (uint8_t& byte : x) byte = static_cast<uint8_t>(std::abs(static_cast<int8_t>(byte)));
    return x;
  }
  /// x, 0 or -x, as sign is positive, 0 or negative.
  static Bytes with_sign(Bytes x, const Bytes& sign) {
    for (size_t i = 0; i < 4 * Lanes; ++i) {
      const int direction = (static_cast<int8_t>(sign[i]) > 0) - (static_cast<int8_t>(sign[i]) < 0);
      x[i] = static_cast<uint8_t>(direction * static_cast<int8_t>(x[i]));
    }
    return x;
  }
  /// Products of neighbouring pairs of unsigned and signed bytes, kept within 16 bits.
  static Pairs dot_2(const Bytes& unsigned_bytes, const Bytes& signed_bytes) {
    Pairs result;
    for (size_t i = 0; i < 2 * Lanes; ++i) {
      const int sum = unsigned_bytes[2 * i] * static_cast<int8_t>(signed_bytes[2 * i]) +
                      unsigned_bytes[2 * i + 1] * static_cast<int8_t>(signed_bytes[2 * i + 1]);
      result[i] = static_cast<int16_t>(std::clamp(sum, -32768, 32767));
    }
    return result;
  }
  static Pairs add_pairs(Pairs a, const Pairs& b) {
    for (size_t i = 0; i < 2 * Lanes; ++i) a[i] = static_cast<int16_t>(a[i] + b[i]);
    return a;
  }
  static Int sum_pairs(const Pairs& x) {
    return each<int32_t>([&](size_t i) { return x[2 * i] + x[2 * i + 1]; });
  }

 private:
  template <typename Element, typename Body>
  static std::array<Element, Lanes> each(const Body& body) {
    std::array<Element, Lanes> result;
    for (size_t i = 0; i < Lanes; ++i) result[i] = body(i);
    return result;
  }
};

/// Matrix tiles of 16 columns.
struct EmulatedTiles {
  static constexpr int kColumns = 16;

  static void end() {}

  /// sums[c][r] = sum over k < 32 of x[c][k] * weights[k / 4][r][k % 4], with signed x and unsigned
  /// weights.
  template <int kSet>
  static void multiply(const int8_t* x, const std::byte* weights, int32_t* sums) {
    for (int64_t c = 0; c < kColumns; ++c) {
      for (int64_t r = 0; r < 16; ++r) sums[c * 16 + r] = sum_of_products(x + c * 32, weights + r * 4, 32);
    }
  }

  /// The same over k < 16: x[c] are 16 bytes of each 32, and weights 4 groups.
  template <int kSet>
  static void multiply_half(const int8_t* x, const std::byte* weights, int32_t* sums) {
    for (int64_t c = 0; c < kColumns; ++c) {
      for (int64_t r = 0; r < 16; ++r) sums[c * 16 + r] = sum_of_products(x + c * 32, weights + r * 4, 16);
    }
  }

  static void begin_floats() {}

  /// Both outs: out[c][r] = sum over k < 32 of columns[b][c][k] * weights[b][k / 2][r][k % 2], block after block, for
  /// tiles of 16 columns. Products of even and of odd k of a block are summed apart, in order, each step rounded once,
  /// and then added, and after a block's those with the rests; the instruction treats denormals as zeros, which is not
  /// done here.
  static void multiply_pair(const PairProduct& task) {
    multiply(task, task.first, task.first_out);
    multiply(task, task.second, task.second_out);
  }

 private:
  static int32_t sum_of_products(const int8_t* x, const std::byte* weights, int64_t count) {
    int32_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += x[k] * std::to_integer<int32_t>(weights[k / 4 * 64 + k % 4]);
    return sum;
  }

  static void multiply(const PairProduct& task, const uint16_t* weights, float* out) {
    for (int64_t c = 0; c < int64_t{task.tiles} * kColumns; ++c) {
      const int64_t place = c / kColumns * task.tile_stride + c % kColumns * 32;
      for (int64_t r = 0; r < 16; ++r) {
        float sum = 0;
        for (int64_t b = 0; b < task.blocks; ++b) {
          const uint16_t* rows = weights + b * 512 + r * 2;
          sum += block_sum(task.columns + place + b * 512, rows);
          if (task.rests != nullptr) sum += block_sum(task.rests + place + b * 512, rows);
        }
        out[c * 16 + r] = sum;
      }
    }
  }

  static float block_sum(const uint16_t* x, const uint16_t* weights) {
    float sums[2] = {0, 0};
    for (int64_t k = 0; k < 32; ++k) {
      sums[k % 2] = std::fma(bf16_to_float(x[k]), bf16_to_float(weights[k / 2 * 32 + k % 2]), sums[k % 2]);
    }
    return sums[0] + sums[1];
  }
};

}  // namespace sluice::engine::cpu
