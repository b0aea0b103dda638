#include "engine/quantized_block.h"

#include <cstring>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr uint16_t kSign = 0x8000;

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

uint16_t load_u16(const std::byte* from) {
  return load<uint16_t>(from);
}

// Integers are read four at a time, as the bytes of a word.
constexpr int kWordBytes = 4;

/// out = fields of kWidth bits: the lowest of all kCount bytes first, then the next of all. With kPlace they are set
/// above the low kPlace bits that are there.
template <int kWidth, int kCount, int kPlace = 0>
void read_bits(const std::byte* from, uint8_t* out) {
  constexpr uint32_t kMask = 0x01010101U * ((1U << kWidth) - 1);
  for (int shift = 0; shift < 8; shift += kWidth) {
    for (int i = 0; i < kCount; i += kWordBytes, out += kWordBytes) {
      uint32_t fields = (load<uint32_t>(from + i) >> shift & kMask) << kPlace;
      if constexpr (kPlace > 0) fields |= load<uint32_t>(out);
      std::memcpy(out, &fields, sizeof(fields));
    }
  }
}

/// 16 bytes of nibbles after 32 bits, each of which is the fifth of an element.
void read_five_bits(const std::byte* fifths, uint8_t* out) {
  read_bits<4, 16>(fifths + 4, out);
  const auto bits = load<uint32_t>(fifths);
  for (int i = 0; i < kQuantBlock; i += kWordBytes) {
    // Bits 0 to 3 come to lie in a byte each: the factor puts copies at distances of 7.
    const uint32_t spread = (bits >> i & 0x0f) * 0x00204081U & 0x01010101U;
    const uint32_t values = load<uint32_t>(out + i) | spread << 4;
    std::memcpy(out + i, &values, sizeof(values));
  }
}

void read_int8(const std::byte* from, uint8_t* out) {
  for (int i = 0; i < kQuantBlock; i += kWordBytes) {
    const uint32_t values = load<uint32_t>(from + i) ^ 0x80808080U;
    std::memcpy(out + i, &values, sizeof(values));
  }
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
  for (int half = 0; half < 2; ++half) read_bits<2, 32>(stored + 16 + 32 * half, block.quants.data() + 128 * half);
  read_d_and_negative_m(stored + 80, block);
}

void read_q3_k(const std::byte* stored, QuantizedBlock& block) {
  for (int half = 0; half < 2; ++half) read_bits<2, 32>(stored + 32 + 32 * half, block.quants.data() + 128 * half);
  read_bits<1, 32, 2>(stored, block.quants.data());
  uint8_t scales[16];
  read_bits<4, 8>(stored + 96, scales);
  read_bits<2, 4, 4>(stored + 104, scales);
  for (size_t i = 0; i < 16; ++i) block.scales[i] = static_cast<int8_t>(scales[i] - 32);
  block.d = load_u16(stored + 108);
}

void read_q4_k(const std::byte* stored, QuantizedBlock& block) {
  read_d_and_negative_m(stored, block);
  read_scales_and_minima(stored + 4, block);
  for (int quarter = 0; quarter < 4; ++quarter) {
    read_bits<4, 32>(stored + 16 + 32 * quarter, block.quants.data() + 64 * quarter);
  }
}

void read_q5_k(const std::byte* stored, QuantizedBlock& block) {
  read_d_and_negative_m(stored, block);
  read_scales_and_minima(stored + 4, block);
  for (int quarter = 0; quarter < 4; ++quarter) {
    read_bits<4, 32>(stored + 48 + 32 * quarter, block.quants.data() + 64 * quarter);
  }
  read_bits<1, 32, 4>(stored + 16, block.quants.data());
}

void read_q6_k(const std::byte* stored, QuantizedBlock& block) {
  for (int half = 0; half < 2; ++half) {
    read_bits<4, 64>(stored + 64 * half, block.quants.data() + 128 * half);
    read_bits<2, 32, 4>(stored + 128 + 32 * half, block.quants.data() + 128 * half);
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
    read_bits<4, 16>(stored + 8 + 16 * i, block.quants.data() + 32 * i);
  }
}

void read_nibbles(const std::byte* stored, QuantizedBlock& block) {
  block.d = load_u16(stored);
  read_bits<4, 16>(stored + 2, block.quants.data());
}

void read_q4_1(const std::byte* stored, QuantizedBlock& block) {
  block.d = load_u16(stored);
  block.m = load_u16(stored + 2);
  read_bits<4, 16>(stored + 4, block.quants.data());
}

void read_q5_0(const std::byte* stored, QuantizedBlock& block) {
  block.d = load_u16(stored);
  read_five_bits(stored + 2, block.quants.data());
}

void read_q5_1(const std::byte* stored, QuantizedBlock& block) {
  block.d = load_u16(stored);
  block.m = load_u16(stored + 2);
  read_five_bits(stored + 4, block.quants.data());
}

void read_q8_0(const std::byte* stored, QuantizedBlock& block) {
  block.d = load_u16(stored);
  read_int8(stored + 2, block.quants.data());
}

void read_mxfp4(const std::byte* stored, QuantizedBlock& block) {
  block.d = bf16_of_exponent(stored[0]);
  read_bits<4, 16>(stored + 1, block.quants.data());
}

using Reader = void (*)(const std::byte* stored, QuantizedBlock& block);

constexpr PerType<Reader> kReaders = [] {
  PerType<Reader> readers;
  readers[TensorType::kQ4_0] = read_nibbles;
  readers[TensorType::kQ4_1] = read_q4_1;
  readers[TensorType::kQ5_0] = read_q5_0;
  readers[TensorType::kQ5_1] = read_q5_1;
  readers[TensorType::kQ8_0] = read_q8_0;
  readers[TensorType::kQ2_K] = read_q2_k;
  readers[TensorType::kQ3_K] = read_q3_k;
  readers[TensorType::kQ4_K] = read_q4_k;
  readers[TensorType::kQ5_K] = read_q5_k;
  readers[TensorType::kQ6_K] = read_q6_k;
  readers[TensorType::kIq4Nl] = read_nibbles;
  readers[TensorType::kIq4Xs] = read_iq4_xs;
  readers[TensorType::kMxfp4] = read_mxfp4;
  return readers;
}();

template <TensorType kType>
void decode(const QuantizedBlock& block, float* out) {
  constexpr QuantScheme kScheme = quant_scheme(kType);
  constexpr int32_t kGroupElements = kScheme.groups == 2 ? kQuantBlock / 2 : kQuantBlock;
  const float d = kScheme.has_bf16_scale ? bf16_to_float(block.d) : half_to_float(block.d);
  const float m = kScheme.has_minimum ? half_to_float(block.m) : 0.0F;
  for (int32_t begin = 0; begin < kScheme.blocks * kQuantBlock; begin += kGroupElements) {
    const auto group = static_cast<size_t>(begin / kGroupElements);
    const float scale = kScheme.groups > 0 ? d * static_cast<float>(block.scales[group]) : d;
    const float minimum = kScheme.groups > 0 && kScheme.has_minimum ? m * static_cast<float>(block.minima[group]) : m;
    for (int32_t k = begin; k < begin + kGroupElements; ++k) {
      const uint8_t quant = block.quants[static_cast<size_t>(k)];
      const int32_t value = kScheme.has_table ? kScheme.table[quant] : quant;
      out[k] = scale * static_cast<float>(value - kScheme.zero);
      // Adding a zero would turn -0 into +0.
      if constexpr (kScheme.has_minimum) out[k] += minimum;
    }
  }
}

using Decoder = void (*)(const QuantizedBlock& block, float* out);

constexpr PerType<Decoder> kDecoders =
    per_quantized_type<Decoder>([](auto type) { return decode<decltype(type)::kType>; });

}  // namespace

void read_block(TensorType type, const std::byte* stored, QuantizedBlock& block) {
  SLUICE_CHECK(is_quantized(type));
  kReaders[type](stored, block);
}

void decode_block(TensorType type, const QuantizedBlock& block, float* out) {
  SLUICE_CHECK(is_quantized(type));
  kDecoders[type](block, out);
}

}  // namespace sluice::engine
