#include "engine/parallel_executor.h"

#include <utility>

#include "base/check.h"

namespace sluice::engine {

ParallelExecutor::ParallelExecutor(std::unique_ptr<RankGroup> group, std::unique_ptr<RankThreads> threads,
                                   std::vector<std::unique_ptr<Executor>> ranks)
    : group_(std::move(group)), threads_(std::move(threads)), ranks_(std::move(ranks)) {
  const auto count = static_cast<int32_t>(ranks_.size());
  SLUICE_CHECK(group_->rank_count() == count && threads_->rank_count() == count);
}

Status ParallelExecutor::launch(const Batch& batch) {
  SLUICE_RETURN_IF_ERROR(failure_.status());
  silent_ = batch;
  silent_.samples.clear();
  threads_->run([&](int32_t rank) {
    Result<StepOutput> made = step_rank(rank, rank == 0 ? batch : silent_);
    if (rank == 0 && made.ok()) drawn_ = std::move(made).value();
  });
  return failure_.status();
}

Result<StepOutput> ParallelExecutor::step_rank(int32_t rank, const Batch& batch) {
  Result<StepOutput> output = ranks_[static_cast<size_t>(rank)]->step(batch);
  if (output.ok()) return output;
  failure_.note(output.status());
  group_->leave(rank);
  return output;
}

StepCosts ParallelExecutor::costs() const {
  StepCosts all = ranks_.front()->costs();
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    const StepCosts costs = ranks_[rank]->costs();
    all.layer_bytes += costs.layer_bytes;
    all.context_token_bytes += costs.context_token_bytes;
    all.token_macs += costs.token_macs;
    all.pair_macs += costs.pair_macs;
  }
  return all;
}

std::vector<MemoryUse> ParallelExecutor::memory_uses() const {
  std::vector<MemoryUse> all = ranks_.front()->memory_uses();
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    const std::vector<MemoryUse> own = ranks_[rank]->memory_uses();
    SLUICE_CHECK(own.size() == all.size());
    for (size_t use = 0; use < all.size(); ++use) all[use].bytes += own[use].bytes;
  }
  return all;
}

}  // namespace sluice::engine
