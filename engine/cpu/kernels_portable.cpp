#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/cpu/kernels_generic.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cpu {
namespace {

struct Portable {
  static constexpr int kLanes = 4;
  static constexpr int kColumns = 1;
  static constexpr int kQueries = 1;
  struct Float {
    float lane[kLanes];
  };

  template <typename Function>
  static Float each(const Function& function) {
    Float result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = function(i);
    return result;
  }
  static Float set(float x) {
    return each([&](int) { return x; });
  }
  static Float load(const float* from) {
    return each([&](int i) { return from[i]; });
  }
  static void store(float* to, Float x) { std::memcpy(to, x.lane, sizeof(x.lane)); }
  static Float add(Float a, Float b) {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Float sub(Float a, Float b) {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static Float mul(Float a, Float b) {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static Float div(Float a, Float b) {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  static Float fma(Float a, Float b, Float c) {
    return each([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  static Float min(Float a, Float b) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Float max(Float a, Float b) {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Float abs(Float x) {
    return each([&](int i) { return std::fabs(x.lane[i]); });
  }
  // To nearest even for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for a fraction.
  static Float round(Float x) {
    return each([&](int i) { return (x.lane[i] + 12582912.0F) - 12582912.0F; });
  }
  static Float power_of_two(Float n) {
    return each([&](int i) {
      return std::bit_cast<float>(static_cast<uint32_t>(static_cast<int32_t>(n.lane[i]) + 127) << 23);
    });
  }
  static float sum_of(Float x) { return (x.lane[0] + x.lane[2]) + (x.lane[1] + x.lane[3]); }
  static float max_of(Float x) { return *std::max_element(x.lane, x.lane + kLanes); }

  static Float load_f16(const uint16_t* from) {
    return each([&](int i) { return half_to_float(from[i]); });
  }
  static Float load_bf16(const uint16_t* from) {
    return each([&](int i) { return std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16); });
  }
  static uint16_t to_f16(float x) { return float_to_half(x); }
  static uint16_t to_bf16(float x) { return float_to_bf16(x); }
  static void store_f16(uint16_t* to, Float x) {
    for (int i = 0; i < kLanes; ++i) to[i] = to_f16(x.lane[i]);
  }
  static void store_bf16(uint16_t* to, Float x) {
    for (int i = 0; i < kLanes; ++i) to[i] = to_bf16(x.lane[i]);
  }
  static void store_int8(int8_t* to, Float x) {
    for (int i = 0; i < kLanes; ++i) to[i] = static_cast<int8_t>(x.lane[i]);
  }
};

void load_halves(const std::byte* from, float (&out)[kPanelRows]) {
  for (int row = 0; row < kPanelRows; ++row) {
    uint16_t half = 0;
    std::memcpy(&half, from + 2 * row, sizeof(half));
    out[row] = half_to_float(half);
  }
}

using Weights = int16_t[kQuantBlock / 4][kPanelRows][4];

struct Q4_0 {
  static constexpr int64_t kBytes = kQ4_0BlockBytes;
  static void load_weights(const std::byte* block, Weights& weights) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < kPanelRows * 4; ++j) {
        const auto both = std::to_integer<int16_t>(block[64 * i + j]);
        weights[2 * i][j / 4][j % 4] = static_cast<int16_t>(both & 0x0f);
        weights[2 * i + 1][j / 4][j % 4] = static_cast<int16_t>(both >> 4);
      }
    }
  }
  static void load_scales(const std::byte* block, float (&scales)[kPanelRows], float (&minima)[kPanelRows]) {
    load_halves(block + 256, scales);
    for (int row = 0; row < kPanelRows; ++row) minima[row] = -8.0F * scales[row];
  }
};

struct Q4_1 : Q4_0 {
  static constexpr int64_t kBytes = kQ4_1BlockBytes;
  static void load_scales(const std::byte* block, float (&scales)[kPanelRows], float (&minima)[kPanelRows]) {
    load_halves(block + 256, scales);
    load_halves(block + 288, minima);
  }
};

struct Q8_0 {
  static constexpr int64_t kBytes = kQ8_0BlockBytes;
  static void load_weights(const std::byte* block, Weights& weights) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < kPanelRows * 4; ++j) {
        weights[i][j / 4][j % 4] = static_cast<int16_t>(std::to_integer<int>(block[64 * i + j]) - 128);
      }
    }
  }
  static void load_scales(const std::byte* block, float (&scales)[kPanelRows], float (&minima)[kPanelRows]) {
    load_halves(block + 512, scales);
    for (float& minimum : minima) minimum = 0;
  }
};

void dot_block(const Weights& weights, const int8_t* x, int32_t (&sums)[kPanelRows]) {
  for (int32_t& sum : sums) sum = 0;
  for (int i = 0; i < kQuantBlock / 4; ++i) {
    for (int row = 0; row < kPanelRows; ++row) {
      for (int j = 0; j < 4; ++j) sums[row] += weights[i][row][j] * x[4 * i + j];
    }
  }
}

// Weights are decoded once for this many columns.
constexpr int32_t kColumnTile = 16;

template <typename Format>
void dot_tile(const std::byte* panel, const QuantColumns& columns, int32_t begin, int32_t end, float* out) {
  const int32_t blocks = columns.length / kQuantBlock;
  std::fill(out + begin * kPanelRows, out + end * kPanelRows, 0.0F);
  for (int32_t b = 0; b < blocks; ++b) {
    Weights weights;
    float scales[kPanelRows];
    float minima[kPanelRows];
    Format::load_weights(panel + b * Format::kBytes, weights);
    Format::load_scales(panel + b * Format::kBytes, scales, minima);
    for (int32_t c = begin; c < end; ++c) {
      const int64_t place = int64_t{c} * blocks + b;
      int32_t dots[kPanelRows];
      dot_block(weights, columns.values + int64_t{c} * columns.length + int64_t{b} * kQuantBlock, dots);
      for (int row = 0; row < kPanelRows; ++row) {
        out[c * kPanelRows + row] +=
            static_cast<float>(dots[row]) * (scales[row] * columns.scales[place]) + minima[row] * columns.sums[place];
      }
    }
  }
}

template <typename Format>
void dot_quant(const std::byte* panel, const QuantColumns& columns, int32_t count, float* out) {
  for (int32_t begin = 0; begin < count; begin += kColumnTile) {
    dot_tile<Format>(panel, columns, begin, std::min(begin + kColumnTile, count), out);
  }
}

constexpr Kernels kKernels = make_kernels<Portable>(dot_quant<Q4_0>, dot_quant<Q4_1>, dot_quant<Q8_0>);

}  // namespace

const Kernels& portable_kernels() {
  return kKernels;
}

}  // namespace sluice::engine::cpu
