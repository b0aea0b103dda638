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

  Result<StepOutput> step(const Batch& batch) override;
  /// Starts a step: the batch and what it lends are lent for the call only. At most 1 + steps_ahead() steps are launched
  /// and not collected. After a failure there is nothing to collect of this step.
  Status launch(const Batch& batch);
  /// Waits for the oldest step that was launched and not collected; there is one.
  Result<StepOutput> collect() { return model_.backend->collect(); }
  int32_t steps_ahead() const { return model_.backend->steps_ahead(); }
  StepCosts costs() const override { return costs_; }
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
};

}  // namespace sluice::engine
