#include "engine/cuda/step_inputs.h"

namespace sluice::engine::cuda {

Status StepInputs::upload(const Batch& batch) {
  sampled_.clear();
  for (const SampleRow& row : batch.samples) sampled_.push_back(row.token_index);
  token_count_ = batch.token_count();
  table_size_ = batch.table_begin.empty() ? 0 : batch.table_begin.back();

  arrays_.clear();
  token_ids_ = arrays_.put(batch.token_ids);
  positions_ = arrays_.put(batch.positions);
  slots_ = arrays_.put(batch.slots);
  row_begin_ = arrays_.put(batch.row_begin);
  table_begin_ = arrays_.put(batch.table_begin);
  block_ids_ = arrays_.put(batch.block_ids);
  sampled_tokens_ = arrays_.put(sampled_);
  return arrays_.upload();
}

}  // namespace sluice::engine::cuda
