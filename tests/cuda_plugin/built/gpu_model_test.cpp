#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/open_plugin.h"
#include "tests/engine/parallel_ranks.h"
#include "tests/engine/sequence_runner.h"

// A tiny model on this machine's first GPU, and shared by the first two; skipped where there are none.

namespace sluice::engine {
namespace {

constexpr char kModel[] = SLUICE_SOURCE_DIR "/tests/data/tiny/llama";
constexpr int32_t kTokens = 24;

Result<RankBackends> open_gpus(const cuda::PluginOptions& options) {
  const std::vector<std::filesystem::path> folders{SLUICE_BUILT_PLUGIN};
  SLUICE_ASSIGN_OR_RETURN(const cuda::Plugin* const plugin, cuda::open_plugin(folders));
  return cuda::open_devices(*plugin, options);
}

std::vector<int32_t> prompt_of(int32_t first, int32_t length) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < length; ++i) prompt.push_back((first + 7 * i) % 200 + 3);
  return prompt;
}

/// The first of `count` sequences that go through the same steps.
TestSequence first_of(SequenceRunner& runner, int32_t count) {
  std::vector<TestSequence> sequences;
  for (int32_t i = 0; i < count; ++i) sequences.push_back({.tokens = prompt_of(i, 20 - i)});
  for (int32_t step = 0; step < kTokens; ++step) {
    for (TestSequence& sequence : sequences) runner.add_slice(sequence, sequence.uncached());
    runner.step();
  }
  for (TestSequence& sequence : sequences) runner.release(sequence);
  return sequences.front();
}

TEST(GpuModel, GivesTheSameBitsInACrowdWhenProductsAreBatchInvariant) {
  const ExecutorShape shape{.block_count = 64, .tokens_max = 256};
  auto gpu = open_gpus({.ordinal = 0, .backend = {}, .products = {.is_batch_invariant = true}});
  if (!gpu.ok()) GTEST_SKIP() << gpu.status();
  const auto executor = make_executor(kModel, shape, std::move(gpu->backends.front()));
  ASSERT_TRUE(executor.ok()) << executor.status();

  SequenceRunner runner(**executor, shape);
  const TestSequence alone = first_of(runner, 1);
  for (const int32_t crowd : {2, 7}) {
    const TestSequence beside = first_of(runner, crowd);
    ASSERT_EQ(drawn_tokens(beside), drawn_tokens(alone)) << crowd;
    for (size_t i = 0; i < alone.samples.size(); ++i) EXPECT_EQ(beside.samples[i].logprob, alone.samples[i].logprob);
  }
}

TEST(GpuModel, ComesOutOfTwoAsOfOne) {
  const ExecutorShape shape{.block_count = 64, .tokens_max = 256, .kv_type = KvType::kF32};
  std::vector<TestSequence> sequences;
  for (const int32_t count : {1, 2}) {
    const CudaOptions exact{.element = cuda::Element::kF32};
    auto gpus = open_gpus({.ordinal = 0, .device_count = count, .backend = exact, .products = {}});
    if (!gpus.ok()) GTEST_SKIP() << gpus.status();
    const auto model = make_parallel_model(kModel, shape, std::move(gpus).value());
    ASSERT_TRUE(model.ok()) << model.status();
    SequenceRunner runner(*model->executor, model->groups, shape);
    sequences.push_back(first_of(runner, 3));
  }
  ASSERT_EQ(drawn_tokens(sequences[1]), drawn_tokens(sequences[0]));
  for (size_t i = 0; i < sequences[0].samples.size(); ++i) {
    EXPECT_NEAR(sequences[1].samples[i].logprob, sequences[0].samples[i].logprob, 1e-3F) << i;
  }
}

TEST(GpuRanks, EndTheirSumsWhenOneLeaves) {
  auto gpus = open_gpus({.ordinal = 0, .device_count = 2, .backend = {}, .products = {}});
  if (!gpus.ok()) GTEST_SKIP() << gpus.status();
  ASSERT_EQ(gpus->group->rank_count(), 2);
  const ExecutorShape shape{.block_count = 64, .tokens_max = 256};
  RankBackends ranks = std::move(gpus).value();
  ranks.group->leave(1);
  EXPECT_EQ(make_parallel_model(kModel, shape, std::move(ranks)).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sluice::engine
