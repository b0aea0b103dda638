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

// Four rows' 4-byte groups `group` of a plane; byte i of each lane is the row's i-th.
Portable::Int load_group(const std::byte* plane, int group, int row) {
  Portable::Int bytes;
  std::memcpy(&bytes, plane + (group * kPanelRows + row) * 4, sizeof(bytes));
  return bytes;
}

// Four rows' fields of element `k` in a plane of kBits.
template <int kBits>
Portable::Int load_fields(const std::byte* plane, int k, int row) {
  constexpr int kFields = 8 / kBits;
  const int shift = 8 * (k % 4) + kBits * (k / 4 % kFields);
  return (load_group(plane, k / 4 / kFields, row) >> shift) & ((1 << kBits) - 1);
}

Portable::Int look_up(const uint8_t* table, Portable::Int quants) {
  return Portable::Int{table[quants[0]], table[quants[1]], table[quants[2]], table[quants[3]]};
}

Portable::Float load_scale_bytes(const std::byte* from) {
  return Portable::Float{
      static_cast<float>(std::to_integer<int8_t>(from[0])), static_cast<float>(std::to_integer<int8_t>(from[1])),
      static_cast<float>(std::to_integer<int8_t>(from[2])), static_cast<float>(std::to_integer<int8_t>(from[3]))};
}

/// How a unit's block is read, four rows at a time from `row` on.
template <TensorType kType>
struct Block {
  static constexpr PackedLayout kLayout = packed_layout(kType);
  static constexpr QuantScheme kScheme = kLayout.scheme;

  const std::byte* unit;
  int32_t block;

  Portable::Float quants(int k, int row) const {
    Portable::Int quant = load_fields<kLayout.low_bits()>(unit + kLayout.low_plane_at(block), k, row);
    if constexpr (kLayout.high_bits() > 0) {
      const std::byte* high = unit + kLayout.high_plane_at(block);
      quant |= load_fields<kLayout.high_bits()>(high, k, row) << kLayout.low_bits();
    }
    if constexpr (kScheme.has_table) quant = look_up(kScheme.table, quant);
    return __builtin_convertvector(quant - kScheme.zero, Portable::Float);
  }
  Portable::Float scale(int half, int row) const {
    Portable::Float scale;
    if constexpr (kScheme.has_bf16_scale) {
      uint16_t d[Portable::kLanes];
      std::memcpy(d, unit + kLayout.scales_at() + 2 * row, sizeof(d));
      scale = Portable::load_bf16(d);
    } else {
      scale = load_halves(unit + kLayout.scales_at(), row);
    }
    if constexpr (kScheme.groups > 0) {
      scale *= load_scale_bytes(unit + kLayout.scale_bytes_at(block) + half * kPanelRows + row);
    }
    return scale;
  }
  Portable::Float minimum(int half, int row) const {
    if constexpr (!kScheme.has_minimum) return Portable::set(0);
    Portable::Float minimum = load_halves(unit + kLayout.minima_at(), row);
    if constexpr (kScheme.groups > 0) {
      minimum *= load_scale_bytes(unit + kLayout.minimum_bytes_at(block) + half * kPanelRows + row);
    }
    return minimum;
  }

  void load(Weights& weights) const {
    constexpr int kElements = kQuantBlock / kLayout.scales();  // that share a scale
    for (int row = 0; row < kPanelRows; row += Portable::kLanes) {
      for (int begin = 0; begin < kQuantBlock; begin += kElements) {
        const Portable::Float s = scale(begin / kElements, row);
        const Portable::Float m = minimum(begin / kElements, row);
        for (int k = begin; k < begin + kElements; ++k) {
          Portable::store(weights[k] + row, Portable::fma(quants(k, row), s, m));
        }
      }
    }
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
template <TensorType kType>
void dot_quant(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  constexpr PackedLayout kLayout = packed_layout(kType);
  std::fill(out, out + count * kPanelRows, 0.0F);
  for (int32_t b = 0; b < columns.length / kQuantBlock; ++b) {
    Weights weights;
    const std::byte* unit = panel + b / kLayout.scheme.blocks * kLayout.bytes();
    Block<kType>{unit, b % kLayout.scheme.blocks}.load(weights);
    for (int32_t c = 0; c < count; ++c) {
      add_block(weights, columns.floats + int64_t{c} * columns.length + int64_t{b} * kQuantBlock, out + c * kPanelRows);
    }
  }
}

constexpr Kernels kKernels = make_kernels<Portable>(
    {.take = Activations::kFloat,
     .dot = per_quantized_type<Dot>([](auto type) { return dot_quant<decltype(type)::kType>; })});

}  // namespace

const Kernels& portable_kernels() {
  return kKernels;
}

}  // namespace sluice::engine::cpu
