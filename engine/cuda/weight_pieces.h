#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/stored_tensor.h"

namespace sluice::engine::cuda {

/// A tensor on its way to a device. What it lends outlives this.
struct WeightCopy {
  StoredTensor tensor;
  std::byte* to = nullptr;   ///< device memory for all of its elements
  bool keeps_bytes = false;  ///< they stay in the form that they are stored in, whatever the others become
};

/// Whole blocks of one tensor.
struct WeightFragment {
  const WeightCopy* copy = nullptr;
  int64_t first_byte = 0;  ///< of the tensor's
  int64_t bytes = 0;
  int64_t place = 0;  ///< of the first byte in its piece
};

/// What is brought to this machine's memory at once: a range of a file with the fragments that lie in it, or one
/// fragment of a tensor that lies in no file.
struct WeightPiece {
  const MappedFile* file = nullptr;
  int64_t begin = 0;  ///< byte of the file, or of the tensor
  int64_t bytes = 0;  ///< with what lies between fragments
  std::vector<WeightFragment> fragments;
};

/// All bytes of the tensors in pieces of at most `piece_bytes`, which is at least kPieceBytesMin: file by file, and
/// each from its beginning to its end. Small tensors that are neighbours share a piece. The copies are lent.
std::vector<WeightPiece> cut_into_pieces(std::span<const WeightCopy> copies, int64_t piece_bytes);

/// Eight blocks of any type.
inline constexpr int64_t kPieceBytesMin = 2048;

}  // namespace sluice::engine::cuda
