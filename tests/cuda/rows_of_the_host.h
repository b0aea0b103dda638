#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/stored_tensor.h"

namespace sluice::engine::cuda {

/// Another maker's rows, which a device isn't told how to make. The maker is lent.
class RowsOfTheHost final : public RowMaker {
 public:
  explicit RowsOfTheHost(const RowMaker& rows) : rows_(rows) {}
  void make_rows(int64_t first, std::span<std::byte> rows) const override { rows_.make_rows(first, rows); }

 private:
  const RowMaker& rows_;
};

}  // namespace sluice::engine::cuda
