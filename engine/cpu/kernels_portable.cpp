#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/cpu/kernel_table.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cpu {
namespace {

// Four lanes in the vector notation that g++ and clang have for every machine; left to plain loops, they may or may not
// vectorise.
struct Portable {
  static constexpr int kLanes = 4;
  static constexpr int kColumns = 2;
  static constexpr int kQueries = 2;
  static constexpr int kParts = 4;
  using Float = float __attribute__((vector_size(16)));
  using Int = int32_t __attribute__((vector_size(16)));

  static Float set(float x) { return Float{x, x, x, x}; }
  static Float load(const float* from) {
    Float x;
    std::memcpy(&x, from, sizeof(x));
    return x;
  }
  static void store(float* to, Float x) { std::memcpy(to, &x, sizeof(x)); }
  static Float add(Float a, Float b) { return a + b; }
  static Float sub(Float a, Float b) { return a - b; }
  static Float mul(Float a, Float b) { return a * b; }
  static Float div(Float a, Float b) { return a / b; }
  static Float fma(Float a, Float b, Float c) { return a * b + c; }
  static Float min(Float a, Float b) { return a < b ? a : b; }
  static Float max(Float a, Float b) { return a > b ? a : b; }
  static Float abs(Float x) { return max(x, -x); }
  // To nearest even for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for a fraction.
  static Float round(Float x) { return (x + 12582912.0F) - 12582912.0F; }
  static Float power_of_two(Float n) { return std::bit_cast<Float>((__builtin_convertvector(n, Int) + 127) << 23); }
  static Float zero_unless_at_least(Float value, Float x, Float floor) { return x >= floor ? value : set(0); }
  static Float swap_neighbours(Float x) { return Float{x[1], x[0], x[3], x[2]}; }
  static float sum_of(Float x) { return (x[0] + x[2]) + (x[1] + x[3]); }
  static float max_of(Float x) { return std::max(std::max(x[0], x[1]), std::max(x[2], x[3])); }

  static Float load_f16(const uint16_t* from) {
    return Float{half_to_float(from[0]), half_to_float(from[1]), half_to_float(from[2]), half_to_float(from[3])};
  }
  static Float load_bf16(const uint16_t* from) {
    return Float{bf16_to_float(from[0]), bf16_to_float(from[1]), bf16_to_float(from[2]), bf16_to_float(from[3])};
  }
  static Float load_int8(const int8_t* from) {
    return Float{static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2]),
                 static_cast<float>(from[3])};
  }
  static uint16_t to_f16(float x) { return float_to_half(x); }
  static uint16_t to_bf16(float x) { return float_to_bf16(x); }
  static void store_f16(uint16_t* to, Float x) {
    for (int i = 0; i < kLanes; ++i) to[i] = to_f16(x[i]);
  }
  static void store_bf16(uint16_t* to, Float x) {
    for (int i = 0; i < kLanes; ++i) to[i] = to_bf16(x[i]);
  }
  static void store_int8(int8_t* to, Float x) {
    for (int i = 0; i < kLanes; ++i) to[i] = static_cast<int8_t>(x[i]);
  }
};

Portable::Float load_halves(const std::byte* from, int first) {
  uint16_t halves[Portable::kLanes];
  std::memcpy(halves, from + 2 * first, sizeof(halves));
  return Portable::load_f16(halves);
}

using Weights = float[kQuantBlock][kPanelRows];

void scale_and_shift(const std::byte* scales, const std::byte* minima, Weights& weights) {
  for (int row = 0; row < kPanelRows; row += Portable::kLanes) {
    const Portable::Float scale = load_halves(scales, row);
    const Portable::Float minimum = minima == nullptr ? Portable::set(0) : load_halves(minima, row);
    for (auto& of_place : weights) {
      Portable::store(of_place + row, Portable::fma(Portable::load(of_place + row), scale, minimum));
    }
  }
}

// Four rows' 4-byte groups `group` of a block; byte i of each lane is the row's i-th.
Portable::Int load_group(const std::byte* block, int group, int row) {
  Portable::Int bytes;
  std::memcpy(&bytes, block + (group * kPanelRows + row) * 4, sizeof(bytes));
  return bytes;
}

void put_bits(Portable::Int group, int shift, int mask, int zero, float* to) {
  Portable::store(to, __builtin_convertvector(((group >> shift) & mask) - zero, Portable::Float));
}

void load_nibbles(const std::byte* block, int zero, Weights& weights) {
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int row = 0; row < kPanelRows; row += Portable::kLanes) {
      const Portable::Int group = load_group(block, quarter, row);
      for (int i = 0; i < 4; ++i) {
        put_bits(group, 8 * i, 0x0f, zero, weights[8 * quarter + i] + row);
        put_bits(group, 8 * i + 4, 0x0f, zero, weights[8 * quarter + 4 + i] + row);
      }
    }
  }
}

struct Q4_0 {
  static constexpr int64_t kBytes = kQ4_0BlockBytes;
  static void load_weights(const std::byte* block, Weights& weights) {
    load_nibbles(block, 8, weights);
    scale_and_shift(block + 256, nullptr, weights);
  }
};

struct Q4_1 {
  static constexpr int64_t kBytes = kQ4_1BlockBytes;
  static void load_weights(const std::byte* block, Weights& weights) {
    load_nibbles(block, 0, weights);
    scale_and_shift(block + 256, block + 288, weights);
  }
};

void load_bytes(const std::byte* block, int zero, Weights& weights) {
  for (int eighth = 0; eighth < 8; ++eighth) {
    for (int row = 0; row < kPanelRows; row += Portable::kLanes) {
      const Portable::Int group = load_group(block, eighth, row);
      for (int i = 0; i < 4; ++i) put_bits(group, 8 * i, 0xff, zero, weights[4 * eighth + i] + row);
    }
  }
}

struct Q5_1 {
  static constexpr int64_t kBytes = kQ5_1BlockBytes;
  static void load_weights(const std::byte* block, Weights& weights) {
    load_bytes(block, 0, weights);
    scale_and_shift(block + 512, block + 544, weights);
  }
};

struct Q8_0 {
  static constexpr int64_t kBytes = kQ8_0BlockBytes;
  static void load_weights(const std::byte* block, Weights& weights) {
    load_bytes(block, 128, weights);
    scale_and_shift(block + 512, nullptr, weights);
  }
};

void add_block(const Weights& weights, const float* x, float* sums) {
  constexpr int kParts = kPanelRows / Portable::kLanes;
  Portable::Float totals[kParts];
  for (int part = 0; part < kParts; ++part) totals[part] = Portable::load(sums + part * Portable::kLanes);
  for (int k = 0; k < kQuantBlock; ++k) {
    for (int part = 0; part < kParts; ++part) {
      const Portable::Float w = Portable::load(weights[k] + part * Portable::kLanes);
      totals[part] = Portable::fma(w, Portable::set(x[k]), totals[part]);
    }
  }
  for (int part = 0; part < kParts; ++part) Portable::store(sums + part * Portable::kLanes, totals[part]);
}

// Without instructions for 8-bit products, quantising the activations would cost accuracy and gain nothing: weights
// become floats, once for all columns.
template <typename Format>
void dot_quant(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  std::fill(out, out + count * kPanelRows, 0.0F);
  for (int32_t begin = 0; begin < columns.length; begin += kQuantBlock) {
    Weights weights;
    Format::load_weights(panel + begin / kQuantBlock * Format::kBytes, weights);
    for (int32_t c = 0; c < count; ++c) {
      add_block(weights, columns.floats + int64_t{c} * columns.length + begin, out + c * kPanelRows);
    }
  }
}

constexpr Kernels kKernels = make_kernels<Portable>({.take = Activations::kFloat,
                                                     .q4_0 = dot_quant<Q4_0>,
                                                     .q4_1 = dot_quant<Q4_1>,
                                                     .q5_1 = dot_quant<Q5_1>,
                                                     .q8_0 = dot_quant<Q8_0>});

}  // namespace

const Kernels& portable_kernels() {
  return kKernels;
}

}  // namespace sluice::engine::cpu
