#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/random_recipe.h"
#include "engine/stored_tensor.h"
#include "engine/tensor_type.h"

namespace sluice::engine {

/// How random weights are spread.
struct WeightSpread {
  float mean = 0;       ///< 0 with a quantised type
  float deviation = 0;  ///< the standard one
};

/// An endless matrix of random rows: each is a pure function of the seed and its number. Float types have normal
/// weights, up to 3.7 deviations from the mean. Of quantised types the blocks have any bits, with the scale that gives
/// the deviation and a random sign; MXFP4 has the next power of two.
class RandomRows final : public RowMaker {
 public:
  /// `row_length` is a multiple of the type's block.
  RandomRows(TensorType type, int64_t row_length, WeightSpread spread, uint64_t seed);

  RandomRows(const RandomRows&) = delete;
  RandomRows& operator=(const RandomRows&) = delete;

  void make_rows(int64_t first, std::span<std::byte> rows) const override;
  std::optional<RandomRecipe> recipe() const override { return recipe_; }

 private:
  /// `counter` is that of the row's first word.
  void make_row(uint64_t counter, std::span<std::byte> row) const;

  std::vector<std::byte> elements_;  ///< what the recipe lends
  RandomRecipe recipe_;
};

}  // namespace sluice::engine
