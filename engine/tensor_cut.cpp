#include "engine/tensor_cut.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace sluice::engine {

TensorCut::TensorCut(const StoredTensor& whole, size_t dimension, const Rank& rank)
    : whole_(whole),
      dimension_(dimension),
      count_(whole.shape.at(dimension) / rank.count),
      first_(count_ * rank.index) {
  SLUICE_CHECK(dimension <= 1 && whole.shape[dimension] % rank.count == 0);
  SLUICE_CHECK(dimension == 1 || count_ % traits_of(whole.type).block_elements == 0);
}

StoredTensor TensorCut::view() const {
  StoredTensor part = whole_;
  part.shape[dimension_] = count_;
  part.data = {};
  part.file = nullptr;  // there is no piece of one that this alone reads
  part.maker = this;
  part.first_made_row = 0;
  return part;
}

// Experts' matrices are stacked in a third dimension, and of each the same rows are in the run.
int64_t TensorCut::whole_row(int64_t row) const {
  if (dimension_ == 0) return row;
  return row / count_ * whole_.shape[1] + first_ + row % count_;
}

void TensorCut::make_rows(int64_t first, std::span<std::byte> rows) const {
  const int64_t begin = dimension_ == 0 ? first_ : 0;
  const int64_t length = dimension_ == 0 ? count_ : whole_.row_length();
  const auto begin_bytes = static_cast<size_t>(tensor_bytes(whole_.type, begin));
  const auto row_bytes = static_cast<size_t>(tensor_bytes(whole_.type, length));
  SLUICE_CHECK(rows.size() % row_bytes == 0);
  std::vector<std::byte> made;
  for (size_t done = 0; done < rows.size(); done += row_bytes) {
    const auto row = whole_.read_rows(whole_row(first++), 1, made).subspan(begin_bytes, row_bytes);
    std::ranges::copy(row, rows.subspan(done).begin());
  }
}

}  // namespace sluice::engine
