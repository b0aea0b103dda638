#include "scheduler/batch_builder.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "scheduler/sequence.h"

namespace sluice::scheduler {
namespace {

void append_tokens(const Slice& slice, engine::Batch& batch) {
  for (int32_t position = slice.begin; position < slice.begin + slice.length; ++position) {
    batch.token_ids.push_back(slice.drawn_before >= 0 ? 0 : slice.sequence->token_at(position));
    batch.positions.push_back(position);
  }
}

/// A sample that looks at token `token_index` of the batch, which is the sequence's token at `position`.
engine::SampleRow sample_after(const Sequence& sequence, int32_t token_index, int32_t position) {
  return {.token_index = token_index,
          .params = &sequence.submission().sampling,
          .prompt = sequence.submission().prompt,
          .output = sequence.output(),
          .seed = sequence.seed(),
          .position = static_cast<uint64_t>(position) + 1};
}

void append_samples(const Slice& slice, int32_t first_token_index, engine::Batch& batch) {
  for (int32_t i = 0; i < slice.scored; ++i) {
    const int32_t position = slice.begin + i;
    batch.samples.push_back(sample_after(*slice.sequence, first_token_index + i, position));
    batch.samples.back().scored_token = slice.sequence->token_at(position + 1);
  }
  if (!slice.draws) return;
  const int32_t last = slice.length - 1;
  batch.samples.push_back(sample_after(*slice.sequence, first_token_index + last, slice.begin + last));
}

/// Blocks of its context that the sequence has.
int32_t context_blocks(const Slice& slice, const kvcache::BlockGrowth& growth) {
  const int32_t tokens = std::max(slice.begin + slice.length, slice.sequence->prompt_length());
  return static_cast<int32_t>(growth.context_blocks(tokens));
}

void append_slots(const Slice& slice, const kvcache::BlockGrowth& growth, int32_t group, engine::Batch& batch) {
  const std::span<const int32_t> table = slice.sequence->block_table();
  for (int32_t position = slice.begin; position < slice.begin + slice.length; ++position) {
    const int64_t place = growth.place_of(position / growth.block_size, group);
    const int32_t block = table[static_cast<size_t>(place)];
    batch.slots.push_back(block * growth.block_size + position % growth.block_size);
  }
}

void append_blocks(const Slice& slice, const kvcache::BlockGrowth& growth, int32_t group, engine::Batch& batch) {
  const std::span<const int32_t> table = slice.sequence->block_table();
  if (growth.is_plain()) {
    batch.block_ids.insert(batch.block_ids.end(), table.begin(), table.end());
    return;
  }
  for (int32_t number = 0; number < context_blocks(slice, growth); ++number) {
    batch.block_ids.push_back(table[static_cast<size_t>(growth.place_of(number, group))]);
  }
}

void append_drawn_before(const StepPlan& plan, engine::Batch& batch) {
  if (!plan.is_ahead) return;
  for (const Slice& slice : std::span(plan.slices).first(static_cast<size_t>(plan.decode_rows))) {
    batch.drawn_before.push_back(slice.drawn_before);
  }
}

}  // namespace

void build_batch(const StepPlan& plan, const kvcache::BlockGrowth& growth, engine::Batch& batch) {
  batch.clear();
  batch.decode_rows = plan.decode_rows;
  batch.row_begin.push_back(0);
  batch.table_begin.push_back(0);
  for (const Slice& slice : plan.slices) {
    const int32_t first_token_index = batch.token_count();
    append_tokens(slice, batch);
    append_samples(slice, first_token_index, batch);
    batch.row_begin.push_back(batch.token_count());
    batch.context_lengths.push_back(slice.begin + slice.length);
    batch.table_begin.push_back(batch.table_begin.back() + context_blocks(slice, growth));
  }
  append_drawn_before(plan, batch);
  for (int32_t group = 0; group < growth.groups(); ++group) {
    for (const Slice& slice : plan.slices) {
      append_slots(slice, growth, group, batch);
      append_blocks(slice, growth, group, batch);
    }
  }
}

}  // namespace sluice::scheduler
