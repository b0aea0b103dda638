#include "engine/tensor_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "engine/quant_scheme.h"
#include "engine/quantized_block.h"

namespace sluice::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are little-endian and read in place");

// ggml's type numbers in order; empty where a number was never given out or was withdrawn.
constexpr std::array<const char*, 41> kGgufTypeNames = {
    "F32",        "F16",        "Q4_0",       "Q4_1",  "",         "",         "Q5_0",     "Q5_1",    "Q8_0",
    "Q8_1",       "Q2_K",       "Q3_K",       "Q4_K",  "Q5_K",     "Q6_K",     "Q8_K",     "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS",    "IQ1_S",      "IQ4_NL",     "IQ3_S", "IQ2_S",    "IQ4_XS",   "I8",       "I16",     "I32",
    "I64",        "F64",        "IQ1_M",      "BF16",  "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",   "TQ2_0",
    "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4", "NVFP4"};

uint16_t load_u16(const std::byte* bytes) {
  uint16_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void decode_f32(const std::byte* block, float* out) {
  std::memcpy(out, block, sizeof *out);
}
void decode_f16(const std::byte* block, float* out) {
  *out = half_to_float(load_u16(block));
}
void decode_bf16(const std::byte* block, float* out) {
  *out = bf16_to_float(load_u16(block));
}

using BlockDecoder = void (*)(const std::byte* block, float* out);

BlockDecoder float_decoder(TensorType type) {
  if (type == TensorType::kF16) return decode_f16;
  if (type == TensorType::kBf16) return decode_bf16;
  SLUICE_CHECK(type == TensorType::kF32);
  return decode_f32;
}

void decode_quantized(TensorType type, const std::byte* block, float* out) {
  QuantizedBlock integers;
  read_block(type, block, integers);
  decode_block(type, integers, out);
}

}  // namespace

std::optional<TensorType> tensor_type_from_gguf(uint32_t number) {
  const auto type = static_cast<TensorType>(number);
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kQ4_0:
    case TensorType::kQ4_1:
    case TensorType::kQ5_0:
    case TensorType::kQ5_1:
    case TensorType::kQ8_0:
    case TensorType::kQ2_K:
    case TensorType::kQ3_K:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
    case TensorType::kQ6_K:
    case TensorType::kIq4Nl:
    case TensorType::kIq4Xs:
    case TensorType::kBf16:
    case TensorType::kMxfp4:
      return type;
  }
  return std::nullopt;
}

std::string tensor_type_name(TensorType type) {
  return gguf_type_name(static_cast<uint32_t>(type));
}

std::string gguf_type_name(uint32_t number) {
  if (number < kGgufTypeNames.size() && *kGgufTypeNames[number] != '\0') return kGgufTypeNames[number];
  return "type " + std::to_string(number);
}

TensorTypeTraits traits_of(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return {1, 4};
    case TensorType::kF16:
      return {1, 2};
    case TensorType::kQ4_0:
      return {32, 18};
    case TensorType::kQ4_1:
      return {32, 20};
    case TensorType::kQ5_0:
      return {32, 22};
    case TensorType::kQ5_1:
      return {32, 24};
    case TensorType::kQ8_0:
      return {32, 34};
    case TensorType::kQ2_K:
      return {256, 84};
    case TensorType::kQ3_K:
      return {256, 110};
    case TensorType::kQ4_K:
      return {256, 144};
    case TensorType::kQ5_K:
      return {256, 176};
    case TensorType::kQ6_K:
      return {256, 210};
    case TensorType::kIq4Nl:
      return {32, 18};
    case TensorType::kIq4Xs:
      return {256, 136};
    case TensorType::kBf16:
      return {1, 2};
    case TensorType::kMxfp4:
      return {32, 17};
  }
  SLUICE_CHECK(false && "a TensorType outside the enum");
}

int64_t tensor_bytes(TensorType type, int64_t elements) {
  const TensorTypeTraits traits = traits_of(type);
  SLUICE_CHECK(elements >= 0 && elements <= int64_t{1} << 60 && elements % traits.block_elements == 0);
  return elements / traits.block_elements * traits.block_bytes;
}

void dequantize(TensorType type, std::span<const std::byte> data, std::span<float> out) {
  const TensorTypeTraits traits = traits_of(type);
  SLUICE_CHECK(static_cast<int64_t>(data.size()) == tensor_bytes(type, static_cast<int64_t>(out.size())));
  const std::byte* block = data.data();
  if (is_quantized(type)) {
    for (size_t i = 0; i < out.size(); i += static_cast<size_t>(traits.block_elements), block += traits.block_bytes) {
      decode_quantized(type, block, &out[i]);
    }
    return;
  }
  const BlockDecoder decode = float_decoder(type);
  for (size_t i = 0; i < out.size(); ++i, block += traits.block_bytes) decode(block, &out[i]);
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 0x1f) {
    const uint32_t quiet = mantissa != 0 ? 0x400000U : 0;
    return std::bit_cast<float>(sign | 0x7f800000U | quiet | mantissa << 13);
  }
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x47800000U) return static_cast<uint16_t>(sign | 0x7c00U);  // 2^16 and beyond
  if (magnitude < 0x38800000U) {
    // Below 2^-14 halves are multiples of 2^-24. Adding 0.5, whose last place is 2^-24, lets the addition itself round
    // to even.
    const float shifted = std::fabs(value) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  // Rebias the exponent, then round at bit 13; a carry runs into the exponent, and from the largest one into infinity.
  const uint32_t rebased = magnitude - (uint32_t{127 - 15} << 23);
  const uint32_t rounded = rebased + 0xfffU + ((rebased >> 13) & 1U);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace sluice::engine
