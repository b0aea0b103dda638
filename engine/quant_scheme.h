#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "engine/tensor_type.h"

namespace sluice::engine {

inline constexpr int32_t kQuantBlock = 32;              ///< elements of the smallest block
inline constexpr int32_t kQuantBlockElementsMax = 256;  ///< elements of the largest
inline constexpr int32_t kScaleBytesMax = 16;           ///< of a block

/// How a quantised type makes numbers of the integers that its blocks hold. With a block's d and m, and with the bytes
/// s and n of an element's group where there are such, the quant q stands for
///   x = d * s * (v - zero) + m * n,
/// where v is q or, with a table, table[q]; what a type hasn't got is left out. In float32 each operation rounds, from
/// left to right. Constants only: this may be used in files of any instruction set.
struct QuantScheme {
  int32_t blocks = 1;              ///< of 32 elements, that share d and m
  int32_t bits = 4;                ///< of a quant
  int32_t groups = 0;              ///< that 32 elements are in, each with an s; 0: there are no such bytes
  bool has_minimum = false;        ///< m, and n where there is s
  int32_t zero = 0;                ///< a power of two, or 0
  const uint8_t* table = nullptr;  ///< [16]
  bool has_table = false;          ///< its address is no constant to ask where sanitizers instrument the code
  bool has_bf16_scale = false;     ///< d is a bfloat16, otherwise a half
};

/// Of IQ4_NL and IQ4_XS, plus 128.
inline constexpr uint8_t kIq4Table[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
/// Of MXFP4, plus 128: twice the numbers of two bits of exponent and one of mantissa (OCP Microscaling Formats 1.0).
inline constexpr uint8_t kMxfp4Table[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                            128, 127, 126, 125, 124, 122, 120, 116};

inline constexpr TensorType kQuantizedTypes[] = {
    TensorType::kQ4_0,  TensorType::kQ4_1,  TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0,
    TensorType::kQ2_K,  TensorType::kQ3_K,  TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K,
    TensorType::kIq4Nl, TensorType::kIq4Xs, TensorType::kMxfp4};

/// `type` is none of the float types.
constexpr QuantScheme quant_scheme(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return {.bits = 4, .zero = 8};
    case TensorType::kQ4_1:
      return {.bits = 4, .has_minimum = true};
    case TensorType::kQ5_0:
      return {.bits = 5, .zero = 16};
    case TensorType::kQ5_1:
      return {.bits = 5, .has_minimum = true};
    case TensorType::kQ2_K:
      return {.blocks = 8, .bits = 2, .groups = 2, .has_minimum = true};
    case TensorType::kQ3_K:
      return {.blocks = 8, .bits = 3, .groups = 2, .zero = 4};
    case TensorType::kQ4_K:
      return {.blocks = 8, .bits = 4, .groups = 1, .has_minimum = true};
    case TensorType::kQ5_K:
      return {.blocks = 8, .bits = 5, .groups = 1, .has_minimum = true};
    case TensorType::kQ6_K:
      return {.blocks = 8, .bits = 6, .groups = 2, .zero = 32};
    case TensorType::kIq4Nl:
      return {.bits = 4, .zero = 128, .table = kIq4Table, .has_table = true};
    case TensorType::kIq4Xs:
      return {.blocks = 8, .bits = 4, .groups = 1, .zero = 128, .table = kIq4Table, .has_table = true};
    case TensorType::kMxfp4:
      return {.bits = 4, .zero = 128, .table = kMxfp4Table, .has_table = true, .has_bf16_scale = true};
    default:
      return {.bits = 8, .zero = 128};  // Q8_0
  }
}

constexpr bool is_quantized(TensorType type) {
  return type != TensorType::kF32 && type != TensorType::kF16 && type != TensorType::kBf16;
}

/// A function of each type that has one.
template <typename Function>
struct PerType {
  Function functions[kTensorTypeNumbers] = {};

  [[gnu::always_inline]] constexpr Function& operator[](TensorType type) { return functions[static_cast<int>(type)]; }
  [[gnu::always_inline]] constexpr Function operator[](TensorType type) const {
    return functions[static_cast<int>(type)];
  }
};

/// A type as a type.
template <TensorType kValue>
struct TypeTag {
  static constexpr TensorType kType = kValue;
};

/// choose(TypeTag) of each quantised type.
template <typename Function, typename Choose>
consteval PerType<Function> per_quantized_type(const Choose& choose) {
  PerType<Function> chosen;
  [&]<size_t... kIndex>(std::index_sequence<kIndex...> /*all*/) {
    ((chosen[kQuantizedTypes[kIndex]] = choose(TypeTag<kQuantizedTypes[kIndex]>())), ...);
  }
  (std::make_index_sequence<std::size(kQuantizedTypes)>());
  return chosen;
}

}  // namespace sluice::engine
