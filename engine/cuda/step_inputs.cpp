#include "engine/cuda/step_inputs.h"

#include <algorithm>

namespace sluice::engine::cuda {

size_t StepInputs::put(const std::vector<int32_t>& values) {
  const size_t offset = staged_.size();
  staged_.insert(staged_.end(), values.begin(), values.end());
  return offset;
}

Status StepInputs::upload(const Batch& batch) {
  staged_.clear();
  token_ids_ = put(batch.token_ids);
  positions_ = put(batch.positions);
  slots_ = put(batch.slots);
  row_begin_ = put(batch.row_begin);
  context_lengths_ = put(batch.context_lengths);
  table_begin_ = put(batch.table_begin);
  block_ids_ = put(batch.block_ids);
  sampled_tokens_ = staged_.size();
  for (const SampleRow& row : batch.samples) staged_.push_back(row.token_index);
  token_count_ = batch.token_count();
  table_size_ = batch.table_begin.empty() ? 0 : batch.table_begin.back();

  const auto bytes = static_cast<int64_t>(staged_.size() * sizeof(int32_t));
  if (bytes == 0) return {};
  if (bytes > memory_.bytes()) {
    // Blocks that sequences share stand in each one's table, so that the number of blocks is no bound.
    const int64_t wanted = std::max(bytes, 2 * memory_.bytes());
    memory_ = DeviceBuffer();
    SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device_, wanted, "the inputs of a step"));
  }
  return device_.copy_in(memory_.as<void>(), staged_.data(), bytes);
}

}  // namespace sluice::engine::cuda
