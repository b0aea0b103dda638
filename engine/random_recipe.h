#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/tensor_type.h"

namespace sluice::engine {

/// What is set in each block of a quantised type after all of it has been drawn.
struct BlockStamp {
  int32_t d_place = -1;  ///< of a half that gets d's magnitude and keeps its own sign; none: -1
  uint16_t d = 0;
  int32_t m_place = -1;  ///< of another, which is m with the sign it has or, where d's sign is set, the other one
  uint16_t m = 0;
  int32_t exponent = -1;  ///< MXFP4: byte 0; else none: -1
};

/// How random rows are made, by whole numbers alone, so that whoever follows it makes the same bytes (random_rows.h).
/// Row r has the words random_bits(seed, r * row_words), and so on by ones.
struct RandomRecipe {
  static constexpr int32_t kElementBits = 12;  ///< of a table that stays in the nearest cache
  static constexpr int64_t kElements = int64_t{1} << kElementBits;
  static constexpr int64_t kDrawsPerWord = 4;
  static constexpr int64_t kWordBytes = 8;

  TensorType type = TensorType::kF32;
  int64_t row_bytes = 0;
  uint64_t row_words = 0;
  uint64_t seed = 0;
  /// Float types: element e of a row is the one whose number is the lowest bits of the quarter e % 4 of word e / 4,
  /// lowest quarter first.
  std::span<const std::byte> elements;  // [kElements], as stored; lent by the maker
  /// Quantised types: a row is the words' bytes, lowest first, and then its blocks are stamped.
  BlockStamp stamp{};
};

}  // namespace sluice::engine
