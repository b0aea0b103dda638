#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "engine/executor.h"
#include "engine/kv_layout.h"
#include "engine/model_loader.h"

namespace sluice::engine {

/// Runs a loaded model's steps over a KV cache of its own. A batch that breaks an invariant of batch.h aborts: it is a
/// bug of whoever built it, and computing it would write into another sequence's blocks.
class ModelExecutor final : public Executor {
 public:
  /// Makes the cache; RESOURCE_EXHAUSTED when its memory is not to be had.
  static Result<std::unique_ptr<ModelExecutor>> create(LoadedModel model, const KvLayout& layout, int32_t block_count);

  Status launch(const Batch& batch) override;
  Result<StepOutput> collect() override;
  int32_t steps_ahead() const override { return model_.backend->steps_ahead(); }
  StepCosts costs() const override { return costs_; }
  std::vector<MemoryUse> memory_uses() const override { return model_.backend->memory_uses(); }
  const KvLayout& layout() const { return layout_; }

 private:
  ModelExecutor(LoadedModel model, const KvLayout& layout, int32_t block_count)
      : model_(std::move(model)), layout_(layout), block_count_(block_count), costs_(costs_of(model_, layout)) {}
  static StepCosts costs_of(const LoadedModel& model, const KvLayout& layout);
  void check_shapes(const Batch& batch) const;
  void check_row(const Batch& batch, size_t row) const;
  void check_samples(const Batch& batch) const;

  LoadedModel model_;
  KvLayout layout_;
  int32_t block_count_;
  StepCosts costs_;
  int32_t launched_ = 0;  ///< steps that aren't collected
};

}  // namespace sluice::engine
