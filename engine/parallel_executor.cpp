#include "engine/parallel_executor.h"

#include <algorithm>
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
  return run([&](int32_t rank) { return ranks_[static_cast<size_t>(rank)]->launch(rank == 0 ? batch : silent_); });
}

Result<StepOutput> ParallelExecutor::collect() {
  StepOutput drawn;
  SLUICE_RETURN_IF_ERROR(run([&](int32_t rank) -> Status {
    Result<StepOutput> output = ranks_[static_cast<size_t>(rank)]->collect();
    if (!output.ok()) return output.status();
    if (rank == 0) drawn = std::move(output).value();
    return {};
  }));
  return drawn;
}

/// Calls body(rank) for every rank on its thread. The first failure there has ever been.
Status ParallelExecutor::run(const std::function<Status(int32_t rank)>& body) {
  threads_->run([&](int32_t rank) {
    const Status done = body(rank);
    if (done.ok()) return;
    failure_.note(done);
    group_->leave(rank);
  });
  return failure_.status();
}

int32_t ParallelExecutor::steps_ahead() const {
  int32_t least = ranks_.front()->steps_ahead();
  for (const auto& rank : ranks_) least = std::min(least, rank->steps_ahead());
  return least;
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
