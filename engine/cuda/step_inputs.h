#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/device.h"
#include "engine/cuda/packed_arrays.h"

namespace sluice::engine::cuda {

/// A batch's numbers in device memory, shaped as in Batch, of the last batch that was uploaded.
class StepInputs {
 public:
  /// The device outlives it.
  explicit StepInputs(Device& device) : arrays_(device, "the inputs of a step") {}

  Status upload(const Batch& batch);

  const int32_t* token_ids() const { return at(token_ids_); }
  const int32_t* positions() const { return at(positions_); }
  const int32_t* slots(int32_t group) const { return at(slots_) + int64_t{group} * token_count_; }
  const int32_t* row_begin() const { return at(row_begin_); }
  const int32_t* table_begin() const { return at(table_begin_); }
  const int32_t* block_ids(int32_t group) const { return at(block_ids_) + int64_t{group} * table_size_; }
  const int32_t* sampled_tokens() const { return at(sampled_tokens_); }  // [samples] SampleRow::token_index

 private:
  const int32_t* at(PackedArrays::Place place) const { return arrays_.at<const int32_t>(place); }

  PackedArrays arrays_;
  PackedArrays::Place token_ids_;
  PackedArrays::Place positions_;
  PackedArrays::Place slots_;
  PackedArrays::Place row_begin_;
  PackedArrays::Place table_begin_;
  PackedArrays::Place block_ids_;
  PackedArrays::Place sampled_tokens_;
  std::vector<int32_t> sampled_;
  int32_t token_count_ = 0;
  int32_t table_size_ = 0;  // of one group
};

}  // namespace sluice::engine::cuda
