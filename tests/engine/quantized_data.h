#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/quant_scheme.h"
#include "engine/tensor_type.h"
#include "tests/engine/backend_batch.h"

namespace sluice::engine {

/// Which bytes of a stored block are what.
struct StoredBlock {
  std::vector<size_t> halves;  ///< where d begins, and where m does
  size_t quants_begin = 0;
  size_t quants_end = 0;
};

inline StoredBlock stored_block(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
      return {{0, 2}, 4, 20};
    case TensorType::kQ5_0:
      return {{0}, 2, 22};
    case TensorType::kQ5_1:
      return {{0, 2}, 4, 24};
    case TensorType::kQ8_0:
      return {{0}, 2, 34};
    case TensorType::kQ2_K:
      return {{80, 82}, 16, 80};
    case TensorType::kQ3_K:
      return {{108}, 0, 96};
    case TensorType::kQ4_K:
      return {{0, 2}, 16, 144};
    case TensorType::kQ5_K:
      return {{0, 2}, 16, 176};
    case TensorType::kQ6_K:
      return {{208}, 0, 192};
    case TensorType::kIq4Xs:
      return {{0}, 8, 136};
    case TensorType::kMxfp4:
      return {{}, 1, 17};
    default:
      return {{0}, 2, 18};  // Q4_0, IQ4_NL
  }
}

/// Fills stored blocks so that weights are of ordinary size: any quants, the largest ones among them, and scales of
/// both signs.
inline void fill_blocks(TensorType type, Random& random, std::span<std::byte> bytes) {
  const auto block_bytes = static_cast<size_t>(traits_of(type).block_bytes);
  const StoredBlock places = stored_block(type);
  const bool has_scale_bytes = quant_scheme(type).groups > 0;
  const float largest[] = {has_scale_bytes ? 0.003F : 0.1F, has_scale_bytes ? 0.01F : 0.5F};
  for (size_t begin = 0; begin < bytes.size(); begin += block_bytes) {
    const std::span<std::byte> block = bytes.subspan(begin, block_bytes);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random.integer(0, 255));
    if (random.integer(0, 3) == 0) std::fill(block.begin(), block.end(), std::byte{0x80});
    if (random.integer(0, 3) == 0) std::fill(block.begin(), block.end(), std::byte{0xff});
    for (size_t i = 0; i < places.halves.size(); ++i) {
      const uint16_t half = float_to_half(random.uniform(-largest[i], largest[i]));
      std::memcpy(&block[places.halves[i]], &half, sizeof(half));
    }
    if (type == TensorType::kMxfp4) block[0] = static_cast<std::byte>(random.integer(120, 126));
  }
}

}  // namespace sluice::engine
