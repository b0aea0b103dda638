#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/thread_communicators.h"
#include "engine/parallel_model.h"
#include "tests/engine/sequence_runner.h"

// Models that several ranks of this process share.

namespace sluice::engine {

/// CPU backends with the options' threads each.
inline RankBackends make_cpu_ranks(int32_t count, CpuOptions options) {
  auto group = std::make_unique<ThreadCommunicators>(count);
  RankBackends ranks;
  for (int32_t rank = 0; rank < count; ++rank) {
    if (count > 1) options.communicator = &group->of(rank);
    ranks.backends.push_back(make_cpu_backend(options).value());
  }
  if (count > 1) ranks.group = std::move(group);
  return ranks;
}

/// What a SequenceRunner needs of a model.
struct TestModel {
  std::unique_ptr<Executor> executor;
  LayerGroups groups;
};

inline Result<TestModel> make_parallel_model(const std::string& path, const ExecutorShape& shape, RankBackends ranks) {
  SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  SLUICE_ASSIGN_OR_RETURN(ParallelModel model,
                          ParallelModel::load(*checkpoint, std::move(ranks), shape.tokens_max, [](int64_t) {}));
  const KvLayout layout = KvLayout::for_model(model.config(), shape.block_size, shape.kv_type, shape.tokens_max);
  SLUICE_ASSIGN_OR_RETURN(auto executor, ParallelModel::make_executor(std::move(model), layout, shape.block_count));
  return TestModel{std::move(executor), layout.groups};
}

}  // namespace sluice::engine
