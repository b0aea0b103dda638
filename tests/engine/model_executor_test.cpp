#include "engine/model_executor.h"

#include <gtest/gtest.h>

#include "tests/engine/gguf_builder.h"
#include "tests/engine/sequence_runner.h"

namespace sluice::engine {
namespace {

/// One token in the first block, whose successor is drawn.
Batch one_token(const SamplingParams& params) {
  Batch batch;
  batch.token_ids = {65};
  batch.positions = {0};
  batch.slots = {0};
  batch.row_begin = {0, 1};
  batch.context_lengths = {1};
  batch.table_begin = {0, 1};
  batch.block_ids = {0};
  batch.samples = {{.params = &params, .prompt = {}, .output = {}}};
  return batch;
}

TEST(ModelExecutorDeathTest, ComputesOneStepAtATimeOfTokensThatAreKnown) {
  const auto executor = make_executor(gguf_test_file("T_base"), {.threads = 1, .block_count = 2}).value();
  const SamplingParams params{.temperature = 0};
  Batch batch = one_token(params);
  EXPECT_EQ(executor->steps_ahead(), 0);
  EXPECT_DEATH(static_cast<void>(executor->collect()), "launched_");
  ASSERT_TRUE(executor->launch(batch).ok());
  EXPECT_DEATH(static_cast<void>(executor->launch(batch)), "launched_");
  const Result<StepOutput> collected = executor->collect();
  ASSERT_TRUE(collected.ok());
  ASSERT_EQ(collected->samples.size(), 1U);
  EXPECT_DEATH(static_cast<void>(executor->collect()), "launched_");
  EXPECT_EQ(executor->step(batch)->samples[0].token, collected->samples[0].token);
  batch.decode_rows = 1;
  batch.drawn_before = {-1};
  EXPECT_DEATH(static_cast<void>(executor->step(batch)), "drawn_before.empty");
}

TEST(ModelExecutorDeathTest, SamplesARowThatDecodesOnce) {
  const auto executor = make_executor(gguf_test_file("T_base"), {.threads = 1, .block_count = 2}).value();
  const SamplingParams params{.temperature = 0};
  Batch batch = one_token(params);
  batch.samples.push_back(batch.samples.front());
  EXPECT_EQ(executor->step(batch)->samples.size(), 2U);  // of a prompt, as many as one likes
  batch.decode_rows = 1;
  EXPECT_DEATH(static_cast<void>(executor->step(batch)), "decoded <= batch.decode_rows");
}

}  // namespace
}  // namespace sluice::engine
