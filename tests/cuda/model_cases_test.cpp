#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"
#include "tests/engine/hf_folder.h"
#include "tests/engine/sequence_runner.h"

// Models whose tokens tell a fault of loading: the cases of tests/engine/llama_cases_test.cpp and
// hf_checkpoint_test.cpp once more, on the simulated GPU.

namespace sluice::engine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

struct Outcome {
  std::vector<int32_t> tokens;
  double first_logprob = 0;
};

Outcome greedy(const std::string& path, int32_t count) {
  cuda::HostDevice device(int64_t{64} << 20);
  const ExecutorShape shape{.block_count = 16, .tokens_max = 32, .kv_type = KvType::kF32};
  const auto executor = make_executor(path, shape, make_cuda_backend(device, {.element = cuda::Element::kF32}));
  EXPECT_TRUE(executor.ok()) << executor.status();
  if (!executor.ok()) return {};
  const std::string text = "The quick brown fox";
  const TestSequence result = SequenceRunner(**executor, shape).generate({text.begin(), text.end()}, count);
  return {drawn_tokens(result), double{result.samples.front().logprob}};
}

TEST(B32_QuantBlocksOnDevice, f_TiedLlamaGivesTheReferenceTokens) {
  const Outcome outcome = greedy(gguf_test_file("T_base"), 3);
  EXPECT_THAT(outcome.tokens, ElementsAre(134, 253, 119));
  EXPECT_NEAR(outcome.first_logprob, -0.550, 0.01);
}

TEST(B32_QuantBlocksOnDevice, f_RotatesHalvesOfAHeadInAFolder) {
  const Outcome outcome = greedy(hf_test_folder("T_base"), 1);
  EXPECT_THAT(outcome.tokens, ElementsAre(44));
  EXPECT_NEAR(outcome.first_logprob, -0.7450, 0.01);
}

TEST(B33_WeightsMapOnDevice, a_OwnOutputMatrixIsUsed) {
  EXPECT_THAT(greedy(gguf_test_file("T_untied"), 3).tokens, ElementsAre(136, 174, 173));
}

TEST(B33_WeightsMapOnDevice, b_WithoutOneTheEmbeddingIsTheHead) {
  EXPECT_THAT(greedy(gguf_test_file("T_base"), 6).tokens, ElementsAre(134, 253, 119, 175, 44, 83));
}

TEST(B33_WeightsMapOnDevice, c_Qwen2BiasesAreAdded) {
  EXPECT_THAT(greedy(gguf_test_file("T_bias"), 3).tokens, ElementsAre(119, 151, 151));
}

TEST(B33_WeightsMapOnDevice, d_RopeBaseOfTheFileIsUsed) {
  EXPECT_THAT(greedy(gguf_test_file("T_theta"), 5).tokens, ElementsAre(253, 8, 177, 61, 151));
  HfFolder folder("T_theta");
  EXPECT_THAT(greedy(folder.path(), 2).tokens, ElementsAre(35, 58));
  folder.configure([](json& config) { config["rope_theta"] = 10000.0; });
  EXPECT_EQ(greedy(folder.path(), 1).tokens.front(), 44);
}

}  // namespace
}  // namespace sluice::engine
