#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gpu_backend.h"
#include "tests/engine/sequence_runner.h"
#include "tests/reference/real_model.h"

// The default model on a GPU, in simulation or not, with weights, cache and what goes into products as bf16.

namespace sluice::engine {
namespace {

using nlohmann::json;

void expect_first_tokens(const CudaOptions& options, size_t count) {
  ReferenceGpu gpu;
  auto backend = gpu.backend(options);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const ExecutorShape shape{.block_count = 8, .tokens_max = 64, .kv_type = KvType::kBf16};
  auto executor = make_executor(model_path("SmolLM2-135M-Instruct.Q4_1.gguf"), shape, std::move(backend).value());
  ASSERT_TRUE(executor.ok()) << executor.status() << "; ./quickstart fetches the model";

  const json cases = reference_of("smollm2").at("cases");
  const json& example = *std::min_element(
      cases.begin(), cases.end(), [](const json& a, const json& b) { return a.at("ids").size() < b.at("ids").size(); });
  const TestSequence result =
      SequenceRunner(**executor, shape).generate(example.at("ids"), static_cast<int32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const json& row = example.at("greedy")[i];  // token, log-probability, its lead over the second
    EXPECT_EQ(result.samples[i].token, row[0]) << "token " << i << ", lead " << row[2];
    EXPECT_NEAR(result.samples[i].logprob, row[1].get<float>(), 0.05) << "token " << i;
  }
}

TEST(DefaultModelOnGpu, DrawsTheReferencesFirstTokens) {
  expect_first_tokens({}, 8);
}

TEST(DefaultModelOnGpu, DrawsThemFromWeightsAsTheyAreStored) {
  // The first by numbers that are made of blocks, as a prompt has many rows, and the second by the blocks themselves.
  expect_first_tokens({.keeps_blocks = true, .gemv_rows_max = 1}, 2);
}

}  // namespace
}  // namespace sluice::engine
