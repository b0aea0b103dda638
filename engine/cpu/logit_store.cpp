#include "engine/cpu/logit_store.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace sluice::engine::cpu {

static_assert(kLogitBlock == kPanelRows);

Status LogitStore::reserve(int32_t vocab_size) {
  if (vocab_size <= vocab_size_max_) return Status();
  const size_t values = size_t{kLogitRowsMax} * static_cast<size_t>(vocab_size);
  const size_t tops = size_t{kLogitRowsMax} * logit_block_count(static_cast<size_t>(vocab_size));
  SLUICE_ASSIGN_OR_RETURN(values_, HugeBuffer::allocate(values * sizeof(float), "logits"));
  SLUICE_ASSIGN_OR_RETURN(tops_, HugeBuffer::allocate(tops * sizeof(float), "logits"));
  vocab_size_max_ = vocab_size;
  return Status();
}

void LogitStore::begin(int32_t vocab_size) {
  SLUICE_CHECK(vocab_size <= vocab_size_max_);
  vocab_size_ = vocab_size;
}

void LogitStore::store(const Kernels& kernels, const PanelResult& result) {
  std::array<float, kLogitRowsMax> tops;
  const bool is_whole = result.row_count == kPanelRows;
  if (is_whole) kernels.panel_tops(result.products, result.count, tops.data());
  const int32_t block = result.first_row / kLogitBlock;
  for (int32_t c = 0; c < result.count; ++c) {
    const LogitRow to = row(result.token + c);
    const float* products = result.products + int64_t{c} * kPanelRows;
    std::memcpy(&to.values[static_cast<size_t>(result.first_row)], products,
                static_cast<size_t>(result.row_count) * sizeof(float));
    to.block_tops[static_cast<size_t>(block)] =
        is_whole ? tops[static_cast<size_t>(c)]
                 : largest_of({products, static_cast<size_t>(result.row_count)});  // the vocabulary's end
  }
}

LogitRow LogitStore::row(int32_t row) {
  const auto size = static_cast<size_t>(vocab_size_);
  const size_t blocks = logit_block_count(size);
  const auto index = static_cast<size_t>(row);
  return {{values_.as<float>() + index * size, size}, {tops_.as<float>() + index * blocks, blocks}};
}

}  // namespace sluice::engine::cpu
