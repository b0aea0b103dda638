#include "engine/model_executor.h"

#include <utility>

namespace sluice::engine {

Result<std::unique_ptr<ModelExecutor>> ModelExecutor::create(LoadedModel model, const KvLayout& layout,
                                                             int32_t block_count) {
  SLUICE_RETURN_IF_ERROR(model.backend->add_cache(layout, block_count));
  SLUICE_RETURN_IF_ERROR(model.model->rehearse(*model.backend));
  return std::unique_ptr<ModelExecutor>(new ModelExecutor(std::move(model), layout, block_count));
}

StepCosts ModelExecutor::costs_of(const LoadedModel& model, const KvLayout& layout) {
  StepCosts costs = model.model->costs(*model.backend);
  costs.context_token_bytes = layout.token_bytes();
  return costs;
}

Status ModelExecutor::launch(const Batch& batch) {
  SLUICE_CHECK(launched_ <= steps_ahead());
  check_shapes(batch);
  for (size_t row = 0; row < batch.context_lengths.size(); ++row) check_row(batch, row);
  check_samples(batch);
  SLUICE_RETURN_IF_ERROR(model_.model->forward(*model_.backend, batch));
  ++launched_;
  return {};
}

Result<StepOutput> ModelExecutor::collect() {
  SLUICE_CHECK(launched_ > 0);
  --launched_;
  return model_.backend->collect();
}

void ModelExecutor::check_shapes(const Batch& batch) const {
  const size_t rows = batch.context_lengths.size();
  const auto groups = static_cast<size_t>(layout_.groups.count());
  SLUICE_CHECK(batch.token_count() <= model_.tokens_max);
  SLUICE_CHECK(batch.positions.size() == batch.token_ids.size());
  SLUICE_CHECK(batch.slots.size() == groups * batch.token_ids.size());
  SLUICE_CHECK(batch.row_begin.size() == rows + 1 && batch.table_begin.size() == rows + 1);
  SLUICE_CHECK(batch.row_begin.front() == 0 && batch.row_begin.back() == batch.token_count());
  SLUICE_CHECK(batch.table_begin.front() == 0);
  SLUICE_CHECK(batch.drawn_before.empty() ||
               (steps_ahead() > 0 && static_cast<int32_t>(batch.drawn_before.size()) == batch.decode_rows));
  // One token each, so the first decode_rows tokens are theirs.
  SLUICE_CHECK(batch.decode_rows >= 0 && static_cast<size_t>(batch.decode_rows) <= rows);
  SLUICE_CHECK(batch.row_begin[static_cast<size_t>(batch.decode_rows)] == batch.decode_rows);
  SLUICE_CHECK(groups * static_cast<size_t>(batch.table_begin.back()) == batch.block_ids.size());
  for (const int32_t block : batch.block_ids) SLUICE_CHECK(block >= 0 && block < block_count_);
  for (const int32_t id : batch.token_ids) SLUICE_CHECK(id >= 0 && id < model_.config.vocab_size);
}

// A row's tokens are the last ones of its context, each in the slots its block tables say.
void ModelExecutor::check_row(const Batch& batch, size_t row) const {
  const int32_t begin = batch.row_begin[row];
  const int32_t end = batch.row_begin[row + 1];
  const int32_t context = batch.context_lengths[row];
  const int32_t table_begin = batch.table_begin[row];
  const int32_t blocks = batch.table_begin[row + 1] - table_begin;
  SLUICE_CHECK(begin < end && end - begin <= context);
  SLUICE_CHECK(int64_t{blocks} * layout_.block_size >= context);
  for (int32_t token = begin; token < end; ++token) {
    const int32_t position = batch.positions[static_cast<size_t>(token)];
    SLUICE_CHECK(position == context - (end - token));
    for (int32_t group = 0; group < layout_.groups.count(); ++group) {
      const int32_t entry = group * batch.table_begin.back() + table_begin + position / layout_.block_size;
      const int32_t slot = batch.slots[static_cast<size_t>(group * batch.token_count() + token)];
      SLUICE_CHECK(slot ==
                   batch.block_ids[static_cast<size_t>(entry)] * layout_.block_size + position % layout_.block_size);
    }
  }
}

void ModelExecutor::check_samples(const Batch& batch) const {
  int32_t decoded = 0;
  for (const SampleRow& sample : batch.samples) {
    decoded += sample.token_index < batch.decode_rows ? 1 : 0;
    SLUICE_CHECK(sample.token_index >= 0 && sample.token_index < batch.token_count());
    SLUICE_CHECK(sample.scored_token < model_.config.vocab_size);
    SLUICE_CHECK(sample.params != nullptr);
  }
  SLUICE_CHECK(decoded <= batch.decode_rows);
}

}  // namespace sluice::engine
