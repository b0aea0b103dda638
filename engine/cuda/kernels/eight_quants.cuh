#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"
#include "engine/quant_scheme.h"
#include "engine/tensor_type.h"

// Eight neighbouring elements of a block of a quantised type, out of the block as it is stored (quantized_block.h tells
// how). They lie in eight neighbouring bytes of one plane, or of several that add bits to each other.

namespace sluice::engine::cuda {

/// Bytes of a block.
constexpr int32_t block_bytes_of(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
    case TensorType::kIq4Nl:
      return 18;
    case TensorType::kQ4_1:
      return 20;
    case TensorType::kQ5_0:
      return 22;
    case TensorType::kQ5_1:
      return 24;
    case TensorType::kQ8_0:
      return 34;
    case TensorType::kQ2_K:
      return 84;
    case TensorType::kQ3_K:
      return 110;
    case TensorType::kQ4_K:
      return 144;
    case TensorType::kQ5_K:
      return 176;
    case TensorType::kQ6_K:
      return 210;
    case TensorType::kIq4Xs:
      return 136;
    default:
      return 17;  // MXFP4
  }
}

/// Half of a table of 16 bytes, in one number that an instruction can hold.
constexpr uint64_t packed_table(const uint8_t* table, int32_t first) {
  uint64_t packed = 0;
  for (int32_t i = 0; i < 8; ++i) packed |= uint64_t{table[first + i]} << 8 * i;
  return packed;
}

/// A type's constants. They are made here since device code may name constants but not what computes them.
template <TensorType kType>
struct BlockFormat {
  static constexpr int32_t kBytes = block_bytes_of(kType);
  static constexpr int32_t kElements = quant_scheme(kType).blocks * kQuantBlock;
  static constexpr int32_t kZero = quant_scheme(kType).zero;
  static constexpr bool kHasMinimum = quant_scheme(kType).has_minimum;
  static constexpr bool kHasTable = quant_scheme(kType).has_table;
  static constexpr uint64_t kTableLow = kHasTable ? packed_table(quant_scheme(kType).table, 0) : 0;
  static constexpr uint64_t kTableHigh = kHasTable ? packed_table(quant_scheme(kType).table, 8) : 0;
  /// Of all blocks when the first's address is a multiple of 4.
  static constexpr int32_t kAlignment = kBytes % 4 == 0 ? 4 : kBytes % 2 == 0 ? 2 : 1;
};

/// Four quants each, the first in the lowest byte.
struct EightQuants {
  uint32_t words[2];
};

/// Two and four bytes of a block.
struct [[gnu::may_alias]] StoredU16 {
  uint16_t bits;
};
struct [[gnu::may_alias]] StoredU32 {
  uint32_t bits;
};

/// A block where it is stored. What is read is aligned as far as the type's blocks are, so the first block's address is
/// to be a multiple of 4.
template <TensorType kType>
struct QuantBlock {
  const uint8_t* bytes;

  static constexpr int32_t kAlignment = BlockFormat<kType>::kAlignment;

  GPU_DEVICE uint32_t u8(int32_t at) const { return bytes[at]; }
  GPU_DEVICE uint32_t u16(int32_t at) const {
    if constexpr (kAlignment == 1) {
      return u8(at) | u8(at + 1) << 8;
    } else {
      return gpu::as_one<const StoredU16>(bytes + at).bits;
    }
  }
  GPU_DEVICE uint32_t u32(int32_t at) const {
    if constexpr (kAlignment < 4) {
      return u16(at) | u16(at + 2) << 16;
    } else {
      return gpu::as_one<const StoredU32>(bytes + at).bits;
    }
  }
  GPU_DEVICE float half(int32_t at) const { return gpu::to_float(gpu::Half{static_cast<uint16_t>(u16(at))}); }

  /// `width` bits of each of eight bytes from `at` on, above the lowest `shift`.
  GPU_DEVICE EightQuants fields(int32_t at, int32_t width, int32_t shift) const {
    const uint32_t mask = 0x01010101U * ((1U << width) - 1);
    return {{u32(at) >> shift & mask, u32(at + 4) >> shift & mask}};
  }
};

/// Sets the fields of `high` above the lowest `place` bits, which `low` has.
GPU_DEVICE EightQuants above(const EightQuants& low, const EightQuants& high, int32_t place) {
  return {{low.words[0] | high.words[0] << place, low.words[1] | high.words[1] << place}};
}

/// A bit for each element; bits 0 to 3 come to lie in a byte each, since the factor puts copies at distances of 7.
GPU_DEVICE EightQuants spread_bits(uint32_t bits) {
  return {{(bits & 0x0fU) * 0x00204081U & 0x01010101U, (bits >> 4 & 0x0fU) * 0x00204081U & 0x01010101U}};
}

/// Of 32 elements in 16 bytes at `at`: low halves first, then high ones.
template <TensorType kType>
GPU_DEVICE EightQuants nibbles(const QuantBlock<kType>& block, int32_t at, int32_t first) {
  return block.fields(at + first % 16, 4, first / 16 * 4);
}

/// The quants of elements first to first + 7 of a block of 32; `first` is a multiple of 8.
template <TensorType kType>
GPU_DEVICE EightQuants small_quants(const QuantBlock<kType>& block, int32_t first) {
  if constexpr (kType == TensorType::kQ8_0) {
    return {{block.u32(2 + first) ^ 0x80808080U, block.u32(6 + first) ^ 0x80808080U}};
  } else if constexpr (kType == TensorType::kQ5_0 || kType == TensorType::kQ5_1) {
    constexpr int32_t kFifths = kType == TensorType::kQ5_0 ? 2 : 4;
    return above(nibbles(block, kFifths + 4, first), spread_bits(block.u32(kFifths) >> first), 4);
  } else if constexpr (kType == TensorType::kMxfp4) {
    return nibbles(block, 1, first);
  } else {
    return nibbles(block, kType == TensorType::kQ4_1 ? 4 : 2, first);
  }
}

/// The same of a block of 256.
template <TensorType kType>
GPU_DEVICE EightQuants large_quants(const QuantBlock<kType>& block, int32_t first) {
  const int32_t byte = first % 32;
  const int32_t of_two_bits = first / 128 * 32 + byte;  // of a plane in which 32 bytes have 128 elements
  const int32_t shift_of_two = first % 128 / 32 * 2;
  const int32_t of_nibbles = first / 64 * 32 + byte;
  const int32_t shift_of_four = first % 64 / 32 * 4;
  if constexpr (kType == TensorType::kQ2_K) {
    return block.fields(16 + of_two_bits, 2, shift_of_two);
  } else if constexpr (kType == TensorType::kQ3_K) {
    return above(block.fields(32 + of_two_bits, 2, shift_of_two), block.fields(byte, 1, first / 32), 2);
  } else if constexpr (kType == TensorType::kQ4_K) {
    return block.fields(16 + of_nibbles, 4, shift_of_four);
  } else if constexpr (kType == TensorType::kQ5_K) {
    return above(block.fields(48 + of_nibbles, 4, shift_of_four), block.fields(16 + byte, 1, first / 32), 4);
  } else if constexpr (kType == TensorType::kQ6_K) {
    const EightQuants low = block.fields(first / 128 * 64 + first % 64, 4, first % 128 / 64 * 4);
    return above(low, block.fields(128 + of_two_bits, 2, shift_of_two), 4);
  } else {
    return nibbles(block, 8 + first / 32 * 16, first % 32);  // IQ4_XS
  }
}

/// What a quant of a group is multiplied with, and what is added.
struct GroupScale {
  float scale = 0;
  float minimum = 0;
};

/// Six bits of s and of n of group `group` of 32 in Q4_K and Q5_K: the low ones of the last four lie in the last four
/// bytes of twelve, their high ones above the first four's.
template <TensorType kType>
GPU_DEVICE GroupScale six_bit_scale(const QuantBlock<kType>& block, int32_t group) {
  const int32_t at = 4 + group % 4;
  const uint32_t first = block.u8(at);
  const uint32_t second = block.u8(at + 4);
  uint32_t s = first & 0x3fU;
  uint32_t n = second & 0x3fU;
  if (group >= 4) {
    const uint32_t low = block.u8(at + 8);
    s = (low & 0x0fU) | (first >> 2 & 0x30U);
    n = low >> 4 | (second >> 2 & 0x30U);
  }
  return {block.half(0) * static_cast<float>(s), -block.half(2) * static_cast<float>(n)};
}

/// Of group `group` of 16 in Q3_K.
template <TensorType kType>
GPU_DEVICE int32_t third_scale(const QuantBlock<kType>& block, int32_t group) {
  const uint32_t low = block.u8(96 + group % 8) >> group / 8 * 4 & 0x0fU;
  const uint32_t high = block.u8(104 + group % 4) >> group / 4 * 2 & 3U;
  return static_cast<int32_t>(low | high << 4) - 32;
}

/// Of the group of element `first`.
template <TensorType kType>
GPU_DEVICE GroupScale group_scale(const QuantBlock<kType>& block, int32_t first) {
  if constexpr (kType == TensorType::kQ4_1 || kType == TensorType::kQ5_1) {
    return {block.half(0), block.half(2)};
  } else if constexpr (kType == TensorType::kQ2_K) {
    const uint32_t both = block.u8(first / 16);
    return {block.half(80) * static_cast<float>(both & 0x0fU), -block.half(82) * static_cast<float>(both >> 4)};
  } else if constexpr (kType == TensorType::kQ3_K) {
    return {block.half(108) * static_cast<float>(third_scale(block, first / 16))};
  } else if constexpr (kType == TensorType::kQ4_K || kType == TensorType::kQ5_K) {
    return six_bit_scale(block, first / 32);
  } else if constexpr (kType == TensorType::kQ6_K) {
    return {block.half(208) * static_cast<float>(static_cast<int8_t>(block.u8(192 + first / 16)))};
  } else if constexpr (kType == TensorType::kIq4Xs) {
    const int32_t group = first / 32;
    const uint32_t low = block.u8(4 + group / 2) >> group % 2 * 4 & 0x0fU;
    const auto six_bits = static_cast<int32_t>(low | (block.u16(2) >> 2 * group & 3U) << 4);
    return {block.half(0) * static_cast<float>(six_bits - 32)};
  } else if constexpr (kType == TensorType::kMxfp4) {
    // 2^(e - 128) as a bf16: its exponent is e - 1, and the least two are subnormal.
    const uint32_t e = block.u8(0);
    return {gpu::to_float(gpu::Bf16{static_cast<uint16_t>(e < 2 ? 0x20U << e : (e - 1) << 7)})};
  } else {
    return {block.half(0)};
  }
}

template <TensorType kType>
GPU_DEVICE int32_t value_of(uint32_t quant) {
  using Format = BlockFormat<kType>;
  if constexpr (Format::kHasTable) {
    return static_cast<int32_t>((quant < 8 ? Format::kTableLow : Format::kTableHigh) >> quant % 8 * 8 & 0xffU);
  } else {
    return static_cast<int32_t>(quant);
  }
}

/// Eight elements before they are numbers: as many bytes as of bf16.
struct HeldQuants {
  EightQuants quants;
  GroupScale by;
};

/// Elements first to first + 7 of a block; `first` is a multiple of 8.
template <TensorType kType>
GPU_DEVICE HeldQuants hold_quants(const QuantBlock<kType>& block, int32_t first) {
  if constexpr (BlockFormat<kType>::kElements > kQuantBlock) {
    return {large_quants(block, first), group_scale(block, first)};
  } else {
    return {small_quants(block, first), group_scale(block, first)};
  }
}

/// out = the numbers, exactly as decode_block() has them: products have fewer bits than a float keeps, so it doesn't
/// matter whether one is rounded before the minimum is added.
template <TensorType kType>
GPU_DEVICE void expand_quants(const HeldQuants& held, float (&out)[kGroup]) {
  using Format = BlockFormat<kType>;
  for (int32_t i = 0; i < kGroup; ++i) {
    const uint32_t quant = held.quants.words[i / 4] >> i % 4 * 8 & 0xffU;
    out[i] = held.by.scale * static_cast<float>(value_of<kType>(quant) - Format::kZero);
    // Adding a zero would turn -0 into +0.
    if constexpr (Format::kHasMinimum) out[i] += held.by.minimum;
  }
}

}  // namespace sluice::engine::cuda
