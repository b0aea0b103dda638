#include "engine/quantized_block.h"

#include <cstring>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr uint16_t kSign = 0x8000;

uint16_t load_u16(const std::byte* from) {
  uint16_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// out = fields of kWidth bits: the lowest of all `count` bytes first, then the next of all.
template <int kWidth>
void read_bits(const std::byte* from, int count, uint8_t* out) {
  for (int shift = 0; shift < 8; shift += kWidth) {
    for (int i = 0; i < count; ++i) {
      *out++ = static_cast<uint8_t>(std::to_integer<uint32_t>(from[i]) >> shift & ((1U << kWidth) - 1));
    }
  }
}

/// The same, set above the low kPlace bits that are there.
template <int kWidth, int kPlace>
void add_bits(const std::byte* from, int count, uint8_t* out) {
  for (int shift = 0; shift < 8; shift += kWidth) {
    for (int i = 0; i < count; ++i, ++out) {
      const uint32_t field = std::to_integer<uint32_t>(from[i]) >> shift & ((1U << kWidth) - 1);
      *out = static_cast<uint8_t>(*out | field << kPlace);
    }
  }
}

void read_five_bits(const std::byte* fifths, uint8_t* out) {
  read_bits<4>(fifths + 4, 16, out);
  uint32_t bits = 0;
  std::memcpy(&bits, fifths, sizeof(bits));
  for (int i = 0; i < kQuantBlock; ++i) out[i] = static_cast<uint8_t>(out[i] | (bits >> i & 1U) << 4);
}

void read_int8(const std::byte* from, uint8_t* out) {
  for (int i = 0; i < kQuantBlock; ++i) out[i] = static_cast<uint8_t>(std::to_integer<uint32_t>(from[i]) ^ 0x80U);
}

/// The exact power of two; 2^-128 and 2^-127 are subnormal.
uint16_t bf16_of_exponent(std::byte exponent) {
  const auto e = std::to_integer<uint32_t>(exponent);
  return static_cast<uint16_t>(e < 2 ? 0x20U << e : (e - 1) << 7);
}

void read_d_and_negative_m(const std::byte* from, QuantizedBlock& block) {
  block.d = load_u16(from);
  block.m = load_u16(from + 2) ^ kSign;
}

/// Six bits each, of eight s and eight n, in 12 bytes: the low ones of the last four lie in the last four bytes, their
/// high ones above the first four's.
void read_scales_and_minima(const std::byte* from, QuantizedBlock& block) {
  const auto at = [from](int i) { return std::to_integer<uint32_t>(from[i]); };
  for (int i = 0; i < 4; ++i) {
    const auto place = static_cast<size_t>(i);
    block.scales[place] = static_cast<int8_t>(at(i) & 0x3f);
    block.minima[place] = static_cast<int8_t>(at(4 + i) & 0x3f);
    block.scales[4 + place] = static_cast<int8_t>((at(8 + i) & 0x0f) | (at(i) >> 2 & 0x30));
    block.minima[4 + place] = static_cast<int8_t>(at(8 + i) >> 4 | (at(4 + i) >> 2 & 0x30));
  }
}

void read_q2_k(const std::byte* stored, QuantizedBlock& block) {
  for (size_t i = 0; i < 16; ++i) {
    block.scales[i] = static_cast<int8_t>(std::to_integer<int>(stored[i] & std::byte{0x0f}));
    block.minima[i] = static_cast<int8_t>(std::to_integer<int>(stored[i] >> 4));
  }
  for (int half = 0; half < 2; ++half) read_bits<2>(stored + 16 + 32 * half, 32, &block.quants[128 * half]);
  read_d_and_negative_m(stored + 80, block);
}

void read_q3_k(const std::byte* stored, QuantizedBlock& block) {
  for (int half = 0; half < 2; ++half) read_bits<2>(stored + 32 + 32 * half, 32, &block.quants[128 * half]);
  add_bits<1, 2>(stored, 32, block.quants.data());
  uint8_t scales[16];
  read_bits<4>(stored + 96, 8, scales);
  add_bits<2, 4>(stored + 104, 4, scales);
  for (size_t i = 0; i < 16; ++i) block.scales[i] = static_cast<int8_t>(scales[i] - 32);
  block.d = load_u16(stored + 108);
}

void read_q4_k(const std::byte* stored, QuantizedBlock& block) {
  read_d_and_negative_m(stored, block);
  read_scales_and_minima(stored + 4, block);
  for (int quarter = 0; quarter < 4; ++quarter) {
    read_bits<4>(stored + 16 + 32 * quarter, 32, &block.quants[64 * quarter]);
  }
}

void read_q5_k(const std::byte* stored, QuantizedBlock& block) {
  read_d_and_negative_m(stored, block);
  read_scales_and_minima(stored + 4, block);
  for (int quarter = 0; quarter < 4; ++quarter) {
    read_bits<4>(stored + 48 + 32 * quarter, 32, &block.quants[64 * quarter]);
  }
  add_bits<1, 4>(stored + 16, 32, block.quants.data());
}

void read_q6_k(const std::byte* stored, QuantizedBlock& block) {
  for (int half = 0; half < 2; ++half) {
    read_bits<4>(stored + 64 * half, 64, &block.quants[128 * half]);
    add_bits<2, 4>(stored + 128 + 32 * half, 32, &block.quants[128 * half]);
  }
  std::memcpy(block.scales.data(), stored + 192, 16);
  block.d = load_u16(stored + 208);
}

void read_iq4_xs(const std::byte* stored, QuantizedBlock& block) {
  block.d = load_u16(stored);
  const uint32_t high = load_u16(stored + 2);
  for (int i = 0; i < 8; ++i) {
    const uint32_t low = std::to_integer<uint32_t>(stored[4 + i / 2]) >> i % 2 * 4 & 0x0f;
    block.scales[static_cast<size_t>(i)] = static_cast<int8_t>(static_cast<int>(low | (high >> 2 * i & 3) << 4) - 32);
    read_bits<4>(stored + 8 + 16 * i, 16, &block.quants[32 * i]);
  }
}

}  // namespace

void read_block(TensorType type, const std::byte* stored, QuantizedBlock& block) {
  switch (type) {
    case TensorType::kQ2_K:
      return read_q2_k(stored, block);
    case TensorType::kQ3_K:
      return read_q3_k(stored, block);
    case TensorType::kQ4_K:
      return read_q4_k(stored, block);
    case TensorType::kQ5_K:
      return read_q5_k(stored, block);
    case TensorType::kQ6_K:
      return read_q6_k(stored, block);
    case TensorType::kIq4Xs:
      return read_iq4_xs(stored, block);
    case TensorType::kMxfp4:
      block.d = bf16_of_exponent(stored[0]);
      return read_bits<4>(stored + 1, 16, block.quants.data());
    default:
      break;
  }
  block.d = load_u16(stored);
  switch (type) {
    case TensorType::kQ4_0:
    case TensorType::kIq4Nl:
      return read_bits<4>(stored + 2, 16, block.quants.data());
    case TensorType::kQ4_1:
      block.m = load_u16(stored + 2);
      return read_bits<4>(stored + 4, 16, block.quants.data());
    case TensorType::kQ5_0:
      return read_five_bits(stored + 2, block.quants.data());
    case TensorType::kQ5_1:
      block.m = load_u16(stored + 2);
      return read_five_bits(stored + 4, block.quants.data());
    case TensorType::kQ8_0:
      return read_int8(stored + 2, block.quants.data());
    default:
      SLUICE_CHECK(false && "a type without blocks");
  }
}

void decode_block(TensorType type, const QuantizedBlock& block, float* out) {
  const QuantScheme scheme = quant_scheme(type);
  const float d = scheme.has_bf16_scale ? bf16_to_float(block.d) : half_to_float(block.d);
  const float m = scheme.has_minimum ? half_to_float(block.m) : 0.0F;
  const int32_t group_elements = scheme.groups == 2 ? kQuantBlock / 2 : kQuantBlock;
  for (int32_t begin = 0; begin < scheme.blocks * kQuantBlock; begin += group_elements) {
    const auto group = static_cast<size_t>(begin / group_elements);
    const float scale = scheme.groups > 0 ? d * static_cast<float>(block.scales[group]) : d;
    const float minimum = scheme.groups > 0 && scheme.has_minimum ? m * static_cast<float>(block.minima[group]) : m;
    for (int32_t k = begin; k < begin + group_elements; ++k) {
      const uint8_t quant = block.quants[static_cast<size_t>(k)];
      const int32_t value = scheme.table != nullptr ? scheme.table[quant] : quant;
      out[k] = scale * static_cast<float>(value - scheme.zero);
      // Adding a zero would turn -0 into +0.
      if (scheme.has_minimum) out[k] += minimum;
    }
  }
}

}  // namespace sluice::engine
