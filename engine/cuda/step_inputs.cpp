#include "engine/cuda/step_inputs.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include "base/check.h"

namespace sluice::engine::cuda {
namespace {

constexpr int32_t kNoSlot = -1;

/// Numbers of a batch and, up to `padded`, one and the same after them.
void put_padded(const ArrayPlace<int32_t>& place, void* memory, std::span<const int32_t> values, int64_t padded,
                int32_t padding) {
  place.put(memory, values);
  const auto count = static_cast<int64_t>(values.size());
  SLUICE_CHECK(padded <= place.room);
  if (padded > count) std::fill_n(place.in(memory) + count, padded - count, padding);
}

}  // namespace

StepInputs::Layout::Layout(const StepRoom& room, int32_t step_tokens, int32_t samples) : tokens(step_tokens) {
  ArrayLayout layout;
  token_ids = layout.add<int32_t>(tokens);
  positions = layout.add<int32_t>(tokens);
  slots = layout.add<int32_t>(int64_t{room.groups} * tokens);
  row_begin = layout.add<int32_t>(tokens + 1);
  table_begin = layout.add<int32_t>(int64_t{room.groups} * (tokens + 1));
  sampled_tokens = layout.add<int32_t>(std::min(std::max(tokens, samples), room.samples));
  drawn_before = layout.add<int32_t>(tokens);
  head_bytes = layout.bytes();
}

Status StepInputs::allocate(const StepRoom& room) {
  room_ = room;
  const int64_t bytes = bytes_for(room);
  SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device_, bytes, "the inputs of a step"));
  SLUICE_ASSIGN_OR_RETURN(ring_, UploadRing::create(device_, bytes, "the inputs of a step"));
  return {};
}

Status StepInputs::upload(const Batch& batch, int32_t padded_tokens) {
  const int32_t tokens = std::max(padded_tokens, batch.token_count());
  SLUICE_CHECK(tokens <= room_.tokens && batch.table_begin.back() <= room_.table_entries);
  layout_ = Layout(room_, tokens, static_cast<int32_t>(batch.samples.size()));
  SLUICE_ASSIGN_OR_RETURN(std::byte * staged, ring_->begin());
  fill(batch, staged);
  SLUICE_RETURN_IF_ERROR(
      ring_->send(memory_.as<void>(), 0, layout_.bytes_with(static_cast<int64_t>(batch.block_ids.size()))));
  return ring_->end();
}

void StepInputs::fill(const Batch& batch, std::byte* staged) {
  const int64_t tokens = layout_.tokens;
  put_padded(layout_.token_ids, staged, batch.token_ids, tokens, 0);
  put_padded(layout_.positions, staged, batch.positions, tokens, 0);
  const auto count = static_cast<size_t>(batch.token_count());
  for (int32_t group = 0; group < room_.groups; ++group) {
    const Numbers of_group{layout_.slots.offset + group * tokens * kNumberBytes, tokens};
    put_padded(of_group, staged, std::span(batch.slots).subspan(static_cast<size_t>(group) * count, count), tokens,
               kNoSlot);
  }
  // A row that begins where it ends has no tokens.
  put_padded(layout_.row_begin, staged, batch.row_begin, tokens + 1, batch.row_begin.back());
  put_padded(layout_.drawn_before, staged, batch.drawn_before, tokens, -1);
  sampled_.clear();
  for (const SampleRow& row : batch.samples) sampled_.push_back(row.token_index);
  put_padded(layout_.sampled_tokens, staged, sampled_, std::min(tokens, layout_.sampled_tokens.room), 0);
  put_tables(batch, staged);
}

void StepInputs::put_tables(const Batch& batch, std::byte* staged) const {
  const int32_t entries = batch.table_begin.back();
  const int64_t ends = layout_.tokens + 1;
  SLUICE_CHECK(std::ssize(batch.block_ids) == int64_t{room_.groups} * entries);
  SLUICE_CHECK(std::ssize(batch.block_ids) <= std::numeric_limits<int32_t>::max() &&
               std::ssize(batch.table_begin) <= ends);
  for (int32_t group = 0; group < room_.groups; ++group) {
    const int32_t first = group * entries;
    int32_t* begin = layout_.table_begin.in(staged) + group * ends;
    int32_t* const last = begin + ends;
    for (const int32_t entry : batch.table_begin) *begin++ = first + entry;
    std::fill(begin, last, first + entries);
  }
  const Numbers ids{layout_.head_bytes, std::ssize(batch.block_ids)};
  ids.put(staged, batch.block_ids);
}

}  // namespace sluice::engine::cuda
