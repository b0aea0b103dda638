#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "engine/tensor_type.h"
#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {

/// Blocks of any bytes, so scales of all sizes. Halves that are no numbers are made ones, as the bits of a NaN are not
/// promised; so are floats.
inline std::vector<uint8_t> random_blocks(TensorType type, int64_t count, Random& random) {
  const auto block_bytes = static_cast<size_t>(traits_of(type).block_bytes);
  std::vector<uint8_t> blocks(static_cast<size_t>(count) * block_bytes);
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random.integer(0, 255));
  for (size_t begin = 0; begin < blocks.size(); begin += block_bytes) {
    for (size_t at = 0; at + 1 < block_bytes; ++at) {
      // Wherever d and m are, the exponent is in the upper byte.
      if ((blocks[begin + at + 1] & 0x7cU) == 0x7cU) blocks[begin + at + 1] ^= 0x40U;
    }
  }
  if (type != TensorType::kMxfp4) return blocks;
  // Its exponents at both ends: subnormal scales, and infinite numbers.
  const uint8_t exponents[] = {0, 1, 2, 254, 255};
  for (size_t i = 0; i < std::size(exponents) && i * block_bytes < blocks.size(); ++i) {
    blocks[i * block_bytes] = exponents[i];
  }
  return blocks;
}

}  // namespace sluice::engine::cuda
