#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {

/// Rows of one expert that a block takes through a product together.
struct ExpertTile {
  int32_t expert = 0;
  int32_t first = 0;
  int32_t count = 0;  ///< 0: there is no such tile
};

/// Tiles that so many rows make at most, however they are shared out: each expert has one that isn't full.
GPU_BOTH int32_t expert_tiles_max(int32_t rows, int32_t experts, int32_t tile_rows) {
  return (rows < experts ? rows : experts) + rows / tile_rows;
}

}  // namespace sluice::engine::cuda
