#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::engine {

/// Element types of stored weights, with the numbers GGUF gives them.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIq4Nl = 20,
  kIq4Xs = 23,
  kBf16 = 30,
  kMxfp4 = 39
};
/// Numbers below which all types' lie.
inline constexpr int32_t kTensorTypeNumbers = 40;

/// nullopt for a number Sluice can't compute with.
std::optional<TensorType> tensor_type_from_gguf(uint32_t number);
std::string tensor_type_name(TensorType type);
/// The name GGUF gives any type number, for messages about types we refuse; "type 77" when nobody knows it.
std::string gguf_type_name(uint32_t number);

struct TensorTypeTraits {
  int32_t block_elements = 1;  ///< elements that share one scale
  int32_t block_bytes = 4;
};
TensorTypeTraits traits_of(TensorType type);

/// Bytes of `elements` elements; `elements` is a multiple of block_elements and at most 2^60.
int64_t tensor_bytes(TensorType type, int64_t elements);

/// Decodes `out.size()` elements (a multiple of the block) from `data`, exactly as the format defines them, in float32
/// (the reference is the gguf package's gguf.quants.dequantize()). What blocks of the quantised types hold is told in
/// quantized_block.h. All numbers are little-endian. `data` has exactly the bytes of `out.size()` elements; it need not
/// be aligned.
void dequantize(TensorType type, std::span<const std::byte> data, std::span<float> out);

// IEEE 754 binary16 and the upper half of a binary32. Subnormals and infinities are kept; a NaN stays a (quiet) NaN
// with its sign.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);  ///< round to nearest even; beyond 65504 + half a step: infinity
float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);  ///< round to nearest even

}  // namespace sluice::engine
