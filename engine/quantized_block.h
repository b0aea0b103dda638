#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/quant_scheme.h"
#include "engine/tensor_type.h"

namespace sluice::engine {

/// The integers of one block of a quantised type, out of whatever order and bits the file keeps them in. Only as many
/// of each as the type has are set.
struct QuantizedBlock {
  std::array<uint8_t, kQuantBlockElementsMax> quants;  ///< of each element, in order
  std::array<int8_t, kScaleBytesMax> scales;           ///< s of each group, in order
  std::array<int8_t, kScaleBytesMax> minima;           ///< n of each group
  uint16_t d;                                          ///< bits; see QuantScheme::has_bf16_scale
  uint16_t m;                                          ///< bits of a half
};

/// Reads a block of traits_of(type).block_bytes as ggml's ggml-common.h lays it out:
///   Q4_0 d, 16 bytes of nibbles · Q4_1 d, m, nibbles · Q5_0 d, 32 fifth bits, nibbles · Q5_1 d, m, fifth bits, nibbles
///   · Q8_0 d, 32 int8 · IQ4_NL d, nibbles · MXFP4 an exponent e, nibbles: d = 2^(e - 128) · Q2_K 16 bytes of s and n,
///   64 of quants, d, -m · Q3_K 32 of third bits, 64 of quants, 12 of s + 32, d · Q4_K d, -m, 12 of s and n, 128 of
///   nibbles · Q5_K the same with 32 of fifth bits before the nibbles · Q6_K 128 of nibbles, 64 of the two bits above,
///   16 of s, d · IQ4_XS d, 2 and 4 of s + 32, 128 of nibbles.
/// int8 quants are turned into 128 more.
void read_block(TensorType type, const std::byte* stored, QuantizedBlock& block);

/// out [traits_of(type).block_elements] = the numbers that the integers stand for; see QuantScheme.
void decode_block(TensorType type, const QuantizedBlock& block, float* out);

}  // namespace sluice::engine
