#include "engine/cuda/step_inputs.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace sluice::engine::cuda {
namespace {

constexpr auto kNumberBytes = static_cast<int64_t>(sizeof(int32_t));
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

StepInputs::Layout::Layout(const StepRoom& room) {
  ArrayLayout layout;
  token_ids = layout.add<int32_t>(room.tokens);
  positions = layout.add<int32_t>(room.tokens);
  slots = layout.add<int32_t>(int64_t{room.groups} * room.tokens);
  row_begin = layout.add<int32_t>(room.tokens + 1);
  table_begin = layout.add<int32_t>(room.tokens + 1);
  sampled_tokens = layout.add<int32_t>(room.samples);
  drawn_before = layout.add<int32_t>(room.tokens);
  block_ids = layout.add<int32_t>(room.groups * room.table_entries);
  bytes = layout.bytes();
}

Status StepInputs::allocate(const StepRoom& room) {
  room_ = room;
  layout_ = Layout(room);
  SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device_, layout_.bytes, "the inputs of a step"));
  SLUICE_ASSIGN_OR_RETURN(ring_, UploadRing::create(device_, layout_.bytes, "the inputs of a step"));
  return {};
}

Status StepInputs::upload(const Batch& batch, int32_t padded_tokens) {
  SLUICE_ASSIGN_OR_RETURN(void* staged, ring_->begin());
  fill(batch, std::max(padded_tokens, batch.token_count()), staged);
  SLUICE_RETURN_IF_ERROR(ring_->send(memory_.as<void>(), 0, layout_.block_ids.offset));
  const int64_t entries = batch.table_begin.empty() ? 0 : batch.table_begin.back();
  for (int32_t group = 0; group < room_.groups; ++group) {
    const int64_t offset = layout_.block_ids.offset + group * room_.table_entries * kNumberBytes;
    SLUICE_RETURN_IF_ERROR(ring_->send(memory_.as<std::byte>() + offset, offset, entries * kNumberBytes));
  }
  return ring_->end();
}

void StepInputs::fill(const Batch& batch, int32_t padded_tokens, void* staged) {
  const int64_t tokens = padded_tokens;
  put_padded(layout_.token_ids, staged, batch.token_ids, tokens, 0);
  put_padded(layout_.positions, staged, batch.positions, tokens, 0);
  const auto count = static_cast<size_t>(batch.token_count());
  for (int32_t group = 0; group < room_.groups; ++group) {
    const ArrayPlace<int32_t> of_group{layout_.slots.offset + int64_t{group} * room_.tokens * kNumberBytes,
                                       room_.tokens};
    put_padded(of_group, staged, std::span(batch.slots).subspan(static_cast<size_t>(group) * count, count), tokens,
               kNoSlot);
  }
  // A row that begins where it ends has no tokens.
  put_padded(layout_.row_begin, staged, batch.row_begin, tokens + 1, batch.row_begin.back());
  put_padded(layout_.table_begin, staged, batch.table_begin, tokens + 1, batch.table_begin.back());
  put_padded(layout_.drawn_before, staged, batch.drawn_before, tokens, -1);
  sampled_.clear();
  for (const SampleRow& row : batch.samples) sampled_.push_back(row.token_index);
  put_padded(layout_.sampled_tokens, staged, sampled_, std::min(tokens, layout_.sampled_tokens.room), 0);
  put_tables(batch, staged);
}

void StepInputs::put_tables(const Batch& batch, void* staged) const {
  const auto entries = static_cast<size_t>(batch.table_begin.back());
  SLUICE_CHECK(static_cast<int64_t>(entries) <= room_.table_entries);
  for (int32_t group = 0; group < room_.groups; ++group) {
    const ArrayPlace<int32_t> of_group{layout_.block_ids.offset + group * room_.table_entries * kNumberBytes,
                                       room_.table_entries};
    of_group.put(staged, std::span(batch.block_ids).subspan(static_cast<size_t>(group) * entries, entries));
  }
}

}  // namespace sluice::engine::cuda
