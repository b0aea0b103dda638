#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/device.h"

namespace sluice::engine::cuda {

/// A batch's numbers in device memory, copied there at once. What its pointers show is shaped as in Batch, of the last
/// batch that was uploaded.
class StepInputs {
 public:
  /// The device outlives it.
  explicit StepInputs(Device& device) : device_(device) {}

  /// Takes more device memory when a batch is larger than all before it.
  Status upload(const Batch& batch);

  const int32_t* token_ids() const { return at(token_ids_); }
  const int32_t* positions() const { return at(positions_); }
  const int32_t* slots(int32_t group) const { return at(slots_) + int64_t{group} * token_count_; }
  const int32_t* row_begin() const { return at(row_begin_); }
  const int32_t* context_lengths() const { return at(context_lengths_); }
  const int32_t* table_begin() const { return at(table_begin_); }
  const int32_t* block_ids(int32_t group) const { return at(block_ids_) + int64_t{group} * table_size_; }
  const int32_t* sampled_tokens() const { return at(sampled_tokens_); }  // [samples] SampleRow::token_index

 private:
  const int32_t* at(size_t offset) const { return memory_.as<const int32_t>() + offset; }
  size_t put(const std::vector<int32_t>& values);

  Device& device_;
  DeviceBuffer memory_;
  std::vector<int32_t> staged_;
  size_t token_ids_ = 0;
  size_t positions_ = 0;
  size_t slots_ = 0;
  size_t row_begin_ = 0;
  size_t context_lengths_ = 0;
  size_t table_begin_ = 0;
  size_t block_ids_ = 0;
  size_t sampled_tokens_ = 0;
  int32_t token_count_ = 0;
  int32_t table_size_ = 0;  // of one group
};

}  // namespace sluice::engine::cuda
