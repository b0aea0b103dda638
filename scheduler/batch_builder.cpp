#include "scheduler/batch_builder.h"

#include <span>

#include "base/check.h"
#include "scheduler/sequence.h"

namespace sluice::scheduler {
namespace {

int32_t size_of(const std::vector<int32_t>& values) {
  return static_cast<int32_t>(values.size());
}

void append_tokens(const Slice& slice, int32_t block_size, engine::Batch& batch) {
  const std::span<const int32_t> table = slice.sequence->block_table();
  for (int32_t position = slice.begin; position < slice.begin + slice.length; ++position) {
    const int32_t block = table[static_cast<size_t>(position / block_size)];
    batch.token_ids.push_back(slice.sequence->token_at(position));
    batch.positions.push_back(position);
    batch.slots.push_back(block * block_size + position % block_size);
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

}  // namespace

void build_batch(const StepPlan& plan, int32_t block_size, engine::Batch& batch) {
  batch.clear();
  batch.decode_rows = plan.decode_rows;
  batch.row_begin.push_back(0);
  batch.table_begin.push_back(0);
  for (const Slice& slice : plan.slices) {
    const int32_t first_token_index = batch.token_count();
    append_tokens(slice, block_size, batch);
    append_samples(slice, first_token_index, batch);
    const std::span<const int32_t> table = slice.sequence->block_table();
    batch.block_ids.insert(batch.block_ids.end(), table.begin(), table.end());
    batch.row_begin.push_back(batch.token_count());
    batch.context_lengths.push_back(slice.begin + slice.length);
    batch.table_begin.push_back(size_of(batch.block_ids));
  }
}

}  // namespace sluice::scheduler
