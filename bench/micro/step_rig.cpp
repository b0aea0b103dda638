#include "bench/micro/step_rig.h"

#include <utility>

#include "base/check.h"
#include "engine/checkpoint.h"
#include "engine/model_executor.h"
#include "engine/model_loader.h"

namespace sluice::bench {

Result<std::unique_ptr<StepRig>> StepRig::create(const StepRigOptions& options, const Clock& clock) {
  SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, engine::Checkpoint::open(options.model_path));
  const auto kv_type = engine::kv_type_from_name(options.kv_type);
  if (!kv_type) return invalid_argument("--kv-dtype: no such type: " + options.kv_type);
  SLUICE_ASSIGN_OR_RETURN(auto backend,
                          engine::make_cpu_backend({.threads = options.threads, .isa = options.isa, .clock = &clock}));
  const engine::CountedBackend* counted = backend.get();
  auto traced = std::make_unique<TracedBackend>(std::move(backend), clock);
  std::unique_ptr<StepRig> rig(new StepRig());
  rig->trace_ = traced.get();
  rig->counted_ = counted;
  SLUICE_ASSIGN_OR_RETURN(engine::LoadedModel model, engine::load_model(*checkpoint, std::move(traced), kTokensMax));
  rig->vocab_size_ = model.config.vocab_size;
  const auto layout = engine::KvLayout::for_model(model.config, kBlockSize, *kv_type, kTokensMax);
  SLUICE_ASSIGN_OR_RETURN(rig->executor_, engine::ModelExecutor::create(std::move(model), layout, kSlots / kBlockSize));
  rig->sampling_.temperature = 0;
  return rig;
}

void StepRig::add_row(int32_t row, int32_t slice, int32_t context) {
  const int32_t blocks = (context + kBlockSize - 1) / kBlockSize;
  const int32_t first_block = row * blocks;
  for (int32_t position = context - slice; position < context; ++position) {
    batch_.token_ids.push_back((1000 + (row * 31 + position * 7) % 40000) % vocab_size_);
    batch_.positions.push_back(position);
    batch_.slots.push_back(first_block * kBlockSize + position);
  }
  batch_.row_begin.push_back(batch_.token_count());
  batch_.context_lengths.push_back(context);
  for (int32_t block = 0; block < blocks; ++block) batch_.block_ids.push_back(first_block + block);
  batch_.table_begin.push_back(static_cast<int32_t>(batch_.block_ids.size()));
  engine::SampleRow sample;
  sample.token_index = batch_.token_count() - 1;
  sample.params = &sampling_;
  batch_.samples.push_back(sample);
}

void StepRig::step(int32_t rows, int32_t slice, int32_t context) {
  batch_.clear();
  batch_.row_begin.push_back(0);
  batch_.table_begin.push_back(0);
  for (int32_t row = 0; row < rows; ++row) add_row(row, slice, context);
  batch_.decode_rows = slice == 1 ? rows : 0;
  SLUICE_CHECK(executor_->step(batch_).ok());
}

}  // namespace sluice::bench
