#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/executor.h"
#include "engine/first_failure.h"
#include "engine/rank_group.h"
#include "engine/rank_threads.h"

namespace sluice::engine {

/// Runs a model's steps on all of its ranks at once; the first rank draws, and where steps go ahead it is the ranks'
/// business to tell each other what (Batch::drawn_before). A rank that fails ends the step for all of them, and every
/// later step with the same failure.
class ParallelExecutor final : public Executor {
 public:
  /// An executor and a thread for each of the group's ranks.
  ParallelExecutor(std::unique_ptr<RankGroup> group, std::unique_ptr<RankThreads> threads,
                   std::vector<std::unique_ptr<Executor>> ranks);

  Status launch(const Batch& batch) override;
  Result<StepOutput> collect() override;
  /// As many as every rank lets go ahead.
  int32_t steps_ahead() const override;
  /// Of all ranks together. The head's are those of the rank that draws.
  StepCosts costs() const override;
  /// Of all ranks together, as all take memory for the same.
  std::vector<MemoryUse> memory_uses() const override;

 private:
  Status run(const std::function<Status(int32_t rank)>& body);

  std::unique_ptr<RankGroup> group_;
  std::unique_ptr<RankThreads> threads_;
  std::vector<std::unique_ptr<Executor>> ranks_;
  Batch silent_;  ///< the step's batch as those get it that draw nothing
  FirstFailure failure_;
};

}  // namespace sluice::engine
