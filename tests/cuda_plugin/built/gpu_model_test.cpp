#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/open_plugin.h"
#include "tests/engine/sequence_runner.h"

// A tiny model on this machine's first GPU; skipped where there is none.

namespace sluice::engine {
namespace {

constexpr char kModel[] = SLUICE_SOURCE_DIR "/tests/data/tiny/llama";
constexpr int32_t kTokens = 24;

Result<std::unique_ptr<Backend>> open_gpu(const cuda::PluginOptions& options) {
  const std::vector<std::filesystem::path> folders{SLUICE_BUILT_PLUGIN};
  SLUICE_ASSIGN_OR_RETURN(const cuda::Plugin* const plugin, cuda::open_plugin(folders));
  return cuda::open_device(*plugin, options);
}

std::vector<int32_t> prompt_of(int32_t first, int32_t length) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < length; ++i) prompt.push_back((first + 7 * i) % 200 + 3);
  return prompt;
}

/// The first of `count` sequences that go through the same steps.
TestSequence first_of(ModelExecutor& executor, const ExecutorShape& shape, int32_t count) {
  SequenceRunner runner(executor, shape);
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
  auto gpu = open_gpu({.ordinal = 0, .backend = {}, .products = {.is_batch_invariant = true}});
  if (!gpu.ok()) GTEST_SKIP() << gpu.status();
  const auto executor = make_executor(kModel, shape, std::move(gpu).value());
  ASSERT_TRUE(executor.ok()) << executor.status();

  const TestSequence alone = first_of(**executor, shape, 1);
  for (const int32_t crowd : {2, 7}) {
    const TestSequence beside = first_of(**executor, shape, crowd);
    ASSERT_EQ(drawn_tokens(beside), drawn_tokens(alone)) << crowd;
    for (size_t i = 0; i < alone.samples.size(); ++i) EXPECT_EQ(beside.samples[i].logprob, alone.samples[i].logprob);
  }
}

}  // namespace
}  // namespace sluice::engine
