#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/backend.h"
#include "engine/executor.h"
#include "engine/first_failure.h"
#include "engine/kv_layout.h"
#include "engine/machine_limits.h"
#include "engine/model_loader.h"
#include "engine/rank_backends.h"
#include "engine/rank_threads.h"
#include "engine/watched_checkpoint.h"

namespace sluice::engine {

/// A model whose weights are on the backends of its ranks, one or more, still without a KV cache. Movable. One caller
/// thread, which is rank 0's.
class ParallelModel {
 public:
  /// Loads every rank's part at the same time. `watch` is told of the checkpoint's bytes that all ranks are through
  /// with, by one rank at a time. Errors are those of load_model(); INVALID_ARGUMENT before any weight is read when so
  /// many ranks can't share the model.
  static Result<ParallelModel> load(const Checkpoint& checkpoint, RankBackends backends, int32_t tokens_max,
                                    const LoadWatch& watch);

  /// Of the whole model.
  const ModelConfig& config() const { return config_; }
  int64_t parameter_count() const { return parameter_count_; }  ///< elements of the checkpoint's tensors

  /// "cpu avx2, 2 threads", or "3 ranks of cpu avx2, 1 thread".
  std::string description() const;
  /// Backend::cache_bytes_max() of all ranks together, for the layout of the whole model: as each has as large a part,
  /// so many times what the one with the least room can keep.
  std::optional<int64_t> cache_bytes_max(const KvLayout& layout) const;
  /// Of all ranks together, measured at the same time.
  MachineLimits measure_limits(const Clock& clock);

  /// Makes the caches. The layout is that of the whole model; each rank keeps its heads of every block.
  static Result<std::unique_ptr<Executor>> make_executor(ParallelModel model, const KvLayout& layout,
                                                         int32_t block_count);

 private:
  ParallelModel() = default;

  Status load_ranks(const Checkpoint& checkpoint, std::vector<std::unique_ptr<Backend>> backends, int32_t tokens_max,
                    const LoadWatch& watch);
  void give_up(int32_t rank, const Status& status, FirstFailure& failure);

  ModelConfig config_;
  int64_t parameter_count_ = 0;
  std::unique_ptr<RankGroup> group_;
  std::unique_ptr<RankThreads> threads_;
  std::vector<LoadedModel> ranks_;
};

}  // namespace sluice::engine
