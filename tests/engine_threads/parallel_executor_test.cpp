#include "engine/parallel_executor.h"

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cpu/thread_communicators.h"
#include "tests/engine/backend_batch.h"

namespace sluice::engine {
namespace {

/// What a test's rank does in its steps.
struct RankScript {
  int32_t sums = 10;        ///< in each step
  int32_t fails_in = -1;    ///< the step that fails, from 0
  int32_t fails_after = 0;  ///< so many sums of it
  int32_t ahead = 0;
  StepCosts costs{};
  std::vector<MemoryUse> uses = {};
};

/// A rank that adds up ones. What it draws is the sum, and a hundred for each step before.
class ScriptedRank final : public Executor {
 public:
  ScriptedRank(Communicator& communicator, const RankScript& script, std::vector<Batch>& seen)
      : communicator_(communicator), script_(script), seen_(seen) {}

  Status launch(const Batch& batch) override {
    const auto index = static_cast<int32_t>(seen_.size());
    seen_.push_back(batch);
    float sum = 0;
    for (int32_t i = 0; i < script_.sums; ++i) {
      if (index == script_.fails_in && i == script_.fails_after) return internal_error("rank is broken");
      sum = 1;
      SLUICE_RETURN_IF_ERROR(communicator_.all_reduce({&sum, 1}));
    }
    StepOutput& drawn = launched_.emplace_back();
    for (size_t i = 0; i < batch.samples.size(); ++i) {
      drawn.samples.emplace_back();
      drawn.samples.back().token = static_cast<int32_t>(sum) + 100 * index;
    }
    return {};
  }
  Result<StepOutput> collect() override {
    StepOutput oldest = std::move(launched_.front());
    launched_.pop_front();
    return oldest;
  }
  int32_t steps_ahead() const override { return script_.ahead; }
  StepCosts costs() const override { return script_.costs; }
  std::vector<MemoryUse> memory_uses() const override { return script_.uses; }

 private:
  Communicator& communicator_;
  RankScript script_;
  std::vector<Batch>& seen_;
  std::deque<StepOutput> launched_;
};

struct Ranks {
  explicit Ranks(const std::vector<RankScript>& scripts) : seen(scripts.size()) {
    const auto count = static_cast<int32_t>(scripts.size());
    auto group = std::make_unique<ThreadCommunicators>(count);
    std::vector<std::unique_ptr<Executor>> executors;
    for (int32_t rank = 0; rank < count; ++rank) {
      const auto index = static_cast<size_t>(rank);
      executors.push_back(std::make_unique<ScriptedRank>(group->of(rank), scripts[index], seen[index]));
    }
    executor = std::make_unique<ParallelExecutor>(std::move(group), std::make_unique<RankThreads>(count),
                                                  std::move(executors));
  }

  std::vector<std::vector<Batch>> seen;  // [ranks] batches of their steps
  std::unique_ptr<ParallelExecutor> executor;
};

Batch sampling_batch(const SamplingParams& params) {
  Batch batch = make_batch({{{0}, 0, 3}, {{1}, 0, 2}}, 4);
  SampleRow row;
  row.params = &params;
  batch.samples = {row, row};
  return batch;
}

TEST(ParallelExecutor, StepsEveryRankAndDrawsOnTheFirst) {
  Ranks ranks({{}, {}, {}});
  const SamplingParams params;
  for (size_t step = 0; step < 20; ++step) {
    const Result<StepOutput> output = ranks.executor->step(sampling_batch(params));
    ASSERT_TRUE(output.ok()) << output.status();
    ASSERT_EQ(output->samples.size(), 2U);
    EXPECT_EQ(output->samples[0].token, 3 + 100 * static_cast<int32_t>(step));
    for (size_t rank = 0; rank < 3; ++rank) {
      ASSERT_EQ(ranks.seen[rank].size(), step + 1);
      const Batch& seen = ranks.seen[rank].back();
      EXPECT_EQ(seen.samples.size(), rank == 0 ? 2U : 0U);
      EXPECT_EQ(seen.positions, sampling_batch(params).positions);
      EXPECT_EQ(seen.block_ids, sampling_batch(params).block_ids);
    }
  }
}

TEST(ParallelExecutor, GoesAheadAsFarAsAllItsRanks) {
  EXPECT_EQ(Ranks({{.ahead = 1}, {.ahead = 0}}).executor->steps_ahead(), 0);
  EXPECT_EQ(Ranks({{.ahead = 0}, {.ahead = 1}}).executor->steps_ahead(), 0);
  Ranks ranks({{.ahead = 1}, {.ahead = 1}});
  ASSERT_EQ(ranks.executor->steps_ahead(), 1);
  const SamplingParams params;
  ASSERT_TRUE(ranks.executor->launch(sampling_batch(params)).ok());
  for (int32_t step = 0; step < 5; ++step) {
    ASSERT_TRUE(ranks.executor->launch(sampling_batch(params)).ok());
    EXPECT_EQ(ranks.executor->collect()->samples.at(1).token, 2 + 100 * step);
  }
  EXPECT_EQ(ranks.executor->collect()->samples.at(1).token, 502);
}

TEST(ParallelExecutor, FailsWhatWasLaunchedBeforeARankFailed) {
  const SamplingParams params;
  Ranks ranks({{.ahead = 1}, {.fails_in = 1, .ahead = 1}});
  ASSERT_TRUE(ranks.executor->launch(sampling_batch(params)).ok());
  EXPECT_EQ(ranks.executor->launch(sampling_batch(params)), internal_error("rank is broken"));
  EXPECT_EQ(ranks.executor->collect().status(), internal_error("rank is broken"));
  EXPECT_EQ(ranks.executor->launch(sampling_batch(params)), internal_error("rank is broken"));
}

TEST(ParallelExecutor, FailsWithTheRankThatFailsAndLeavesNoneWaiting) {
  const SamplingParams params;
  for (size_t broken = 0; broken < 3; ++broken) {
    for (const int32_t after : {0, 1, 9}) {
      std::vector<RankScript> scripts(3);
      scripts[broken] = {.fails_in = 2, .fails_after = after};
      Ranks ranks(scripts);
      for (int step = 0; step < 2; ++step) EXPECT_TRUE(ranks.executor->step(sampling_batch(params)).ok());
      EXPECT_EQ(ranks.executor->step(sampling_batch(params)).status(), internal_error("rank is broken"));
    }
  }
}

TEST(ParallelExecutor, DoesNoMoreStepsAfterAFailure) {
  const SamplingParams params;
  Ranks ranks({{}, {.fails_in = 0}});
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(ranks.executor->step(sampling_batch(params)).status(), internal_error("rank is broken"));
  }
  EXPECT_EQ(ranks.seen[0].size(), 1U);
}

TEST(ParallelExecutor, TellsWhatItsRanksTakeTogether) {
  EXPECT_TRUE(Ranks({{}, {}}).executor->memory_uses().empty());
  const Ranks ranks({{.uses = {{"weights", 5}, {"free", 90}}}, {.uses = {{"weights", 7}, {"free", 80}}}});
  const std::vector<MemoryUse> uses = ranks.executor->memory_uses();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].purpose, "weights");
  EXPECT_EQ(uses[0].bytes, 12);
  EXPECT_EQ(uses[1].purpose, "free");
  EXPECT_EQ(uses[1].bytes, 170);
}

TEST(ParallelExecutor, CostsWhatItsRanksDoAndOneHead) {
  const StepCosts each{.layer_bytes = 10,
                       .head_bytes = 7,
                       .context_token_bytes = 3,
                       .token_macs = 100,
                       .sample_macs = 50,
                       .pair_macs = 4};
  const Ranks ranks({{.costs = each}, {.costs = each}, {.costs = each}});
  const StepCosts all = ranks.executor->costs();
  EXPECT_EQ(all.layer_bytes, 30);
  EXPECT_EQ(all.head_bytes, 7);
  EXPECT_EQ(all.context_token_bytes, 9);
  EXPECT_EQ(all.token_macs, 300);
  EXPECT_EQ(all.sample_macs, 50);
  EXPECT_EQ(all.pair_macs, 12);
}

}  // namespace
}  // namespace sluice::engine
