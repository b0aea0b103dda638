#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/rank.h"
#include "engine/stored_tensor.h"

namespace sluice::engine {

/// A rank's run of a tensor's elements along one of its dimensions, taken out of the whole whenever somebody reads its
/// rows. Stays where it is while view() is in use.
class TensorCut final : public RowMaker {
 public:
  /// The dimension is the first or the second; its extent is a multiple of the rank's count, and along the first the
  /// run is of whole blocks of the type. What `whole` looks into outlives this.
  TensorCut(const StoredTensor& whole, size_t dimension, const Rank& rank);
  TensorCut(const TensorCut&) = delete;
  TensorCut& operator=(const TensorCut&) = delete;

  /// The run as a tensor with the name of the whole; lent.
  StoredTensor view() const;
  void make_rows(int64_t first, std::span<std::byte> rows) const override;

 private:
  int64_t whole_row(int64_t row) const;

  const StoredTensor whole_;
  const size_t dimension_;
  const int64_t count_;  ///< elements of the run along the dimension
  const int64_t first_;  ///< where it begins
};

}  // namespace sluice::engine
