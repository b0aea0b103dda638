#include "engine/parallel_model.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/load_shares.h"
#include "engine/model_executor.h"
#include "engine/parallel_executor.h"
#include "engine/rank.h"
#include "engine/rank_checkpoint.h"
#include "engine/tensor_check.h"

namespace sluice::engine {
namespace {

Result<std::vector<std::unique_ptr<RankCheckpoint>>> rank_checkpoints(const Checkpoint& checkpoint, int32_t count) {
  std::vector<std::unique_ptr<RankCheckpoint>> parts;
  for (int32_t rank = 0; rank < count; ++rank) {
    SLUICE_ASSIGN_OR_RETURN(auto part, RankCheckpoint::make(checkpoint, {rank, count}));
    parts.push_back(std::move(part));
  }
  return parts;
}

int64_t element_count(const TensorSource& source) {
  int64_t count = 0;
  for (const auto& [type, total] : tensor_totals(source)) count += total.elements;
  return count;
}

/// The rank's heads of every block.
KvLayout rank_layout(KvLayout layout, int32_t rank_count) {
  layout.kv_head_count /= rank_count;
  layout.head_count /= rank_count;
  return layout;
}

}  // namespace

Result<ParallelModel> ParallelModel::load(const Checkpoint& checkpoint, RankBackends backends, int32_t tokens_max,
                                          const LoadWatch& watch) {
  const auto count = static_cast<int32_t>(backends.backends.size());
  SLUICE_CHECK(count == 1 ? backends.group == nullptr : backends.group->rank_count() == count);
  ParallelModel made;
  SLUICE_ASSIGN_OR_RETURN(made.config_, checkpoint.config());
  made.parameter_count_ = element_count(checkpoint.tensors());
  made.group_ = std::move(backends.group);
  made.threads_ = std::make_unique<RankThreads>(count);
  if (count == 1) {
    const WatchedCheckpoint watched(checkpoint, watch);
    SLUICE_ASSIGN_OR_RETURN(LoadedModel only, load_model(watched, std::move(backends.backends.front()), tokens_max));
    made.ranks_.push_back(std::move(only));
    return made;
  }
  SLUICE_RETURN_IF_ERROR(made.load_ranks(checkpoint, std::move(backends.backends), tokens_max, watch));
  return made;
}

Status ParallelModel::load_ranks(const Checkpoint& checkpoint, std::vector<std::unique_ptr<Backend>> backends,
                                 int32_t tokens_max, const LoadWatch& watch) {
  SLUICE_ASSIGN_OR_RETURN(const auto parts, rank_checkpoints(checkpoint, threads_->rank_count()));
  std::vector<int64_t> rank_bytes;
  rank_bytes.reserve(parts.size());
  for (const auto& part : parts) rank_bytes.push_back(stored_bytes(part->tensors()));
  LoadShares shares(stored_bytes(checkpoint.tensors()), std::move(rank_bytes), watch);
  FirstFailure failure;
  ranks_.resize(parts.size());
  threads_->run([&](int32_t rank) {
    const auto index = static_cast<size_t>(rank);
    const WatchedCheckpoint watched(*parts[index], [&shares, rank](int64_t bytes) { shares.note(rank, bytes); });
    Result<LoadedModel> model = load_model(watched, std::move(backends[index]), tokens_max);
    if (model.ok()) {
      ranks_[index] = std::move(model).value();
    } else {
      give_up(rank, model.status(), failure);
    }
  });
  return failure.status();
}

// Others may wait for the rank in a step that they do ahead of the first one.
void ParallelModel::give_up(int32_t rank, const Status& status, FirstFailure& failure) {
  failure.note(status);
  if (group_ != nullptr) group_->leave(rank);
}

std::string ParallelModel::description() const {
  const std::string first = ranks_.front().backend->description();
  return ranks_.size() == 1 ? first : std::to_string(ranks_.size()) + " ranks of " + first;
}

std::optional<int64_t> ParallelModel::cache_bytes_max(const KvLayout& layout) const {
  const auto count = static_cast<int32_t>(ranks_.size());
  std::optional<int64_t> least;
  for (const LoadedModel& rank : ranks_) {
    const auto of_one = rank.backend->cache_bytes_max(rank_layout(layout, count));
    if (of_one) least = std::min(least.value_or(*of_one), *of_one);
  }
  return least ? std::optional(*least * count) : std::nullopt;
}

MachineLimits ParallelModel::measure_limits(const Clock& clock) {
  std::vector<MachineLimits> limits(ranks_.size());
  threads_->run([&](int32_t rank) {
    const auto index = static_cast<size_t>(rank);
    limits[index] = ranks_[index].backend->measure_limits(clock);
  });
  MachineLimits all;
  for (const MachineLimits& own : limits) {
    all.read_bytes_per_second += own.read_bytes_per_second;
    all.vector_macs_per_second += own.vector_macs_per_second;
    all.tile_macs_per_second += own.tile_macs_per_second;
  }
  return all;
}

Result<std::unique_ptr<Executor>> ParallelModel::make_executor(ParallelModel model, const KvLayout& layout,
                                                               int32_t block_count) {
  const auto count = static_cast<int32_t>(model.ranks_.size());
  const KvLayout part = rank_layout(layout, count);
  std::vector<std::unique_ptr<Executor>> ranks(model.ranks_.size());
  FirstFailure failure;
  model.threads_->run([&](int32_t rank) {
    const auto index = static_cast<size_t>(rank);
    auto executor = ModelExecutor::create(std::move(model.ranks_[index]), part, block_count);
    if (executor.ok()) {
      ranks[index] = std::move(executor).value();
    } else {
      model.give_up(rank, executor.status(), failure);
    }
  });
  SLUICE_RETURN_IF_ERROR(failure.status());
  if (ranks.size() == 1) return std::move(ranks.front());
  return std::unique_ptr<Executor>(
      std::make_unique<ParallelExecutor>(std::move(model.group_), std::move(model.threads_), std::move(ranks)));
}

}  // namespace sluice::engine
