#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/quant_scheme.h"
#include "tests/engine/parallel_ranks.h"
#include "tests/engine/temporary_folder.h"
#include "tests/reference/real_model.h"

// Ranks that share a model against one that has it alone. What they add up is the same but for the order of sums, so
// float models come out alike; where activations are rounded to 8 bits, a rounding may go the other way.

namespace sluice::engine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string default_model_path() {
  return model_path("SmolLM2-135M-Instruct.Q4_1.gguf");
}

TestModel load(const std::string& path, const ExecutorShape& shape, int32_t ranks) {
  auto model = make_parallel_model(path, shape, make_cpu_ranks(ranks, {.threads = 1, .isa = shape.isa}));
  EXPECT_TRUE(model.ok()) << model.status();
  return std::move(model).value();
}

class SharedDefaultModel : public ::testing::Test {
 protected:
  SequenceRunner runner(TestModel& model) { return {*model.executor, model.groups, shape_}; }

  ExecutorShape shape_;
  TestModel shared_ = load(default_model_path(), shape_, 3);
  json reference_ = reference_of("smollm2");
};

TEST_F(SharedDefaultModel, ScoresThePassageLikeTheReference) {
  SequenceRunner ranks = runner(shared_);
  const PassageFit fit = fit_passage(ranks, reference_.at("passage"));
  EXPECT_LE(fit.mean_logprob_difference, 0.045);
  EXPECT_NEAR(fit.perplexity_ratio, 1.0, 0.015);
  EXPECT_GE(fit.agreed, 0.98 * fit.clear);
}

TEST_F(SharedDefaultModel, DrawsTheTokensOfTheModelAlone) {
  TestModel alone = load(default_model_path(), shape_, 1);
  SequenceRunner one = runner(alone);
  SequenceRunner three = runner(shared_);
  double difference = 0;
  int count = 0;
  for (const json& example : reference_.at("cases")) {
    SCOPED_TRACE(example.at("prompt").get<std::string>());
    const TestSequence expected = one.generate(example.at("ids"), 6);
    const TestSequence drawn = three.generate(example.at("ids"), 6);
    for (size_t i = 0; i < expected.samples.size(); ++i) {
      const SampledToken& sample = expected.samples[i];
      if (sample.top[0].logprob - sample.top[1].logprob < 0.3F) break;  // from here on another text may be right
      ASSERT_EQ(drawn.samples[i].token, sample.token) << i;
      difference += std::abs(drawn.samples[i].logprob - sample.logprob);
      ++count;
    }
  }
  EXPECT_GE(count, 20);
  EXPECT_LE(difference / count, 0.05);
}

TEST_F(SharedDefaultModel, GivesARequestTheSameBitsAloneAndInACrowd) {
  SequenceRunner ranks = runner(shared_);
  const std::vector<int32_t> prompt = reference_.at("cases")[0].at("ids");
  const TestSequence alone = ranks.generate(prompt, 4);
  TestSequence crowded{.tokens = prompt};
  TestSequence other{.tokens = reference_.at("cases")[1].at("ids")};
  for (int32_t step = 0; step < 4; ++step) {
    ranks.add_slice(crowded, crowded.uncached());
    ranks.add_slice(other, other.uncached());
    ranks.step();
  }
  EXPECT_EQ(drawn_tokens(crowded), drawn_tokens(alone));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(crowded.samples[i].logprob, alone.samples[i].logprob);
}

/// The log-probabilities of a prompt's tokens and of those drawn after it.
std::vector<float> logprobs_of(TestModel& model, const ExecutorShape& shape, const std::vector<int32_t>& prompt) {
  SequenceRunner runner(*model.executor, model.groups, shape);
  std::vector<float> logprobs;
  for (const SampledToken& score : score_text(runner, prompt, 7)) logprobs.push_back(score.logprob);
  for (const SampledToken& sample : runner.generate(prompt, 8).samples) logprobs.push_back(sample.logprob);
  return logprobs;
}

/// Random weights of a small model, two heads of 128 elements for each of two ranks: rows of every type can be cut.
std::string synthetic_path(const TemporaryFolder& folder, json config, TensorType type) {
  config.update({{"vocab_size", 320},
                 {"num_hidden_layers", 2},
                 {"hidden_size", 256},
                 {"intermediate_size", 512},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"head_dim", 128},
                 {"max_position_embeddings", 128},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 10000}});
  folder.write("config.json", config.dump());
  std::string name = tensor_type_name(type);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return "synthetic:" + folder.path_of("config.json") + ":" + name;
}

void expect_same_shared(const std::string& path, float difference_max) {
  SCOPED_TRACE(path);
  const ExecutorShape shape{.block_size = 8, .block_count = 64, .tokens_max = 64, .kv_type = KvType::kF32};
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 40; ++i) prompt.push_back(7 * i % 250);
  TestModel alone = load(path, shape, 1);
  TestModel shared = load(path, shape, 2);
  const std::vector<float> expected = logprobs_of(alone, shape, prompt);
  const std::vector<float> got = logprobs_of(shared, shape, prompt);
  ASSERT_EQ(got.size(), expected.size());
  float difference = 0;
  for (size_t i = 0; i < got.size(); ++i) difference = std::max(difference, std::abs(got[i] - expected[i]));
  EXPECT_LE(difference, difference_max);
}

// Each rank's rows and columns begin at another place of the stored ones: of floats, of blocks of 32 and of 256, and of
// biases.
TEST(SharedModels, ComeOutAsTheyDoAloneWhateverTheWeightsAreStoredAs) {
  const TemporaryFolder folder;
  const json config = {{"model_type", "qwen2"}};
  expect_same_shared(synthetic_path(folder, config, TensorType::kF32), 1e-4F);
  expect_same_shared(synthetic_path(folder, config, TensorType::kF16), 1e-4F);
  expect_same_shared(synthetic_path(folder, config, TensorType::kBf16), 1e-4F);
  for (const TensorType type : kQuantizedTypes) expect_same_shared(synthetic_path(folder, config, type), 0.06F);
}

TEST(SharedModels, ComeOutAsTheyDoAloneWithExpertsStackedInOneTensor) {
  const TemporaryFolder folder;
  const json config = {
      {"model_type", "qwen3_moe"}, {"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 512}};
  expect_same_shared(synthetic_path(folder, config, TensorType::kF32), 1e-4F);
  expect_same_shared(synthetic_path(folder, config, TensorType::kQ4_K), 0.06F);
}

TEST(SharedModels, AreRefusedBeforeAnyWeightIsRead) {
  const ExecutorShape shape;
  const auto refusal = [&](const std::string& path, int32_t ranks) {
    return make_parallel_model(path, shape, make_cpu_ranks(ranks, {.threads = 1})).status().message();
  };
  EXPECT_EQ(refusal(default_model_path(), 2),
            "engine.tensor_parallel is 2, but the model has 9 heads, 3 KV heads and a feed-forward width of 1536; "
            "1 or 3 divide them all");
  EXPECT_THAT(refusal(SLUICE_SOURCE_DIR "/tests/data/tiny/qwen2", 2), HasSubstr("1 KV heads"));
}

}  // namespace
}  // namespace sluice::engine
