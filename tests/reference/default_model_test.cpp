#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/cpu/cpu_isa.h"
#include "tests/engine/sequence_runner.h"

namespace sluice::engine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

const std::vector<int32_t> kCapitalOfFrance = {504, 3575, 282, 4649, 314};  // "The capital of France is"

std::string model_path() {
  const char* folder = std::getenv("SLUICE_MODELS");
  return std::string(folder != nullptr ? folder : SLUICE_MODELS) + "/SmolLM2-135M-Instruct.Q4_1.gguf";
}

json reference() {
  std::ifstream file(SLUICE_SOURCE_DIR "/tests/data/reference/smollm2.json");
  return json::parse(file);
}

/// What the model says after each token of a text: the log-probability of the text's next token and the likeliest
/// tokens.
std::vector<SampledToken> score_text(SequenceRunner& runner, const std::vector<int32_t>& ids, int32_t slice) {
  TestSequence sequence{.tokens = ids};
  std::vector<SampledToken> scores;
  const auto end = static_cast<int32_t>(ids.size()) - 1;
  while (sequence.cached < end) {
    runner.add_scored_slice(sequence, std::min(slice, end - sequence.cached));
    for (const SampledToken& score : runner.step()) scores.push_back(score);
  }
  runner.release(sequence);
  return scores;
}

class DefaultModel : public ::testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    auto executor = make_executor(model_path(), shape_);
    ASSERT_TRUE(executor.ok()) << executor.status() << "; ./quickstart fetches the model";
    executor_ = std::move(executor).value();
  }

  ExecutorShape shape_{.isa = std::string(cpu_isa_name(GetParam()))};
  std::unique_ptr<ModelExecutor> executor_;
};

/// How a passage's scores differ from the reference's.
struct PassageFit {
  double mean_logprob_difference = 0;
  double perplexity_ratio = 0;
  int clear = 0;   ///< places where the reference's two likeliest tokens lie apart
  int agreed = 0;  ///< of those, where the likeliest is the same
};

PassageFit fit_passage(ModelExecutor& executor, const ExecutorShape& shape) {
  const json passage = reference().at("passage");
  const std::vector<int32_t> ids = passage.at("ids");
  const std::vector<double> expected = passage.at("logprobs");
  const std::vector<int32_t> top1 = passage.at("top1");
  const std::vector<double> gap = passage.at("gap");
  SequenceRunner runner(executor, shape);
  const std::vector<SampledToken> scores = score_text(runner, ids, 200);
  EXPECT_EQ(scores.size(), expected.size());
  PassageFit fit;
  double surprise = 0;
  for (size_t i = 0; i < std::min(scores.size(), expected.size()); ++i) {
    const double difference = static_cast<double>(scores[i].logprob) - expected[i];
    fit.mean_logprob_difference += std::abs(difference) / static_cast<double>(expected.size());
    surprise -= difference / static_cast<double>(expected.size());
    if (gap[i] < 0.2) continue;
    ++fit.clear;
    fit.agreed += scores[i].top.front().token == top1[i] ? 1 : 0;
  }
  fit.perplexity_ratio = std::exp(surprise);
  return fit;
}

TEST_P(DefaultModel, ScoresThePassageLikeTheReference) {
  const PassageFit fit = fit_passage(*executor_, shape_);
  EXPECT_LE(fit.mean_logprob_difference, 0.045);
  EXPECT_NEAR(fit.perplexity_ratio, 1.0, 0.015);
  EXPECT_GE(fit.agreed, 0.98 * fit.clear);
  RecordProperty("mean_logprob_difference", std::to_string(fit.mean_logprob_difference));
  RecordProperty("perplexity_ratio", std::to_string(fit.perplexity_ratio));
}

TEST(DefaultModelCache, ScoresThePassageWithEightBitKeysAndValues) {
  const ExecutorShape shape{.kv_type = KvType::kInt8};
  auto executor = make_executor(model_path(), shape);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const PassageFit fit = fit_passage(**executor, shape);
  EXPECT_LE(fit.mean_logprob_difference, 0.06);
  EXPECT_NEAR(fit.perplexity_ratio, 1.0, 0.015);
  EXPECT_GE(fit.agreed, 0.97 * fit.clear);
  RecordProperty("mean_logprob_difference", std::to_string(fit.mean_logprob_difference));
}

/// |difference| of the ten likeliest first tokens' log-probabilities.
std::vector<double> top10_differences(const SampledToken& first, const json& top10) {
  std::map<int32_t, float> logprobs;
  for (const TokenLogprob& candidate : first.top) logprobs[candidate.token] = candidate.logprob;
  std::vector<double> differences;
  for (const json& candidate : top10) {
    const auto found = logprobs.find(candidate[0].get<int32_t>());
    EXPECT_NE(found, logprobs.end()) << candidate;
    if (found == logprobs.end()) continue;
    differences.push_back(std::abs(static_cast<double>(found->second) - candidate[1].get<double>()));
  }
  return differences;
}

TEST_P(DefaultModel, GreedyTokensFollowTheReferenceWhereTheyAreClear) {
  SequenceRunner runner(*executor_, shape_);
  const json cases = reference().at("cases");
  ASSERT_EQ(cases.size(), 9U);
  double total = 0;
  int count = 0;
  for (const json& example : cases) {
    SCOPED_TRACE(example.at("prompt").get<std::string>());
    const json& rows = example.at("greedy");
    size_t clear = 0;
    while (clear < rows.size() && rows[clear][2].get<double>() >= 0.3) ++clear;
    const TestSequence result = runner.generate(example.at("ids"), static_cast<int32_t>(std::max<size_t>(clear, 1)));
    for (size_t i = 0; i < clear; ++i) EXPECT_EQ(result.samples[i].token, rows[i][0].get<int32_t>()) << i;
    for (const double difference : top10_differences(result.samples.front(), example.at("first_top10"))) {
      // Unlikely tokens move more than the passage's own: 8-bit activations give up to 0.37 here, float ones 0.007.
      EXPECT_LE(difference, 0.6);
      total += difference;
      ++count;
    }
  }
  EXPECT_LE(total / count, 0.15);
}

TEST_P(DefaultModel, B32_QuantBlocks_g_ContinuesLikeTheReference) {
  const TestSequence result = SequenceRunner(*executor_, shape_).generate(kCapitalOfFrance, 5);
  EXPECT_THAT(drawn_tokens(result), ElementsAre(7042, 30, 198, 198, 504));
}

TEST_P(DefaultModel, B14_Sampling_a_GreedyIsParis) {
  const TestSequence result = SequenceRunner(*executor_, shape_).generate(kCapitalOfFrance, 1);
  EXPECT_EQ(result.samples.front().token, 7042);
  EXPECT_NEAR(result.samples.front().logprob, -0.26F, 0.06F);
}

TEST_P(DefaultModel, B14_Sampling_e_TopKOfOneIsGreedy) {
  SequenceRunner runner(*executor_, shape_);
  runner.params().temperature = 1;
  runner.params().top_k = 1;
  EXPECT_EQ(runner.generate(kCapitalOfFrance, 1).samples.front().token, 7042);
}

TEST_P(DefaultModel, B14_Sampling_i_TopKOfOneIsGreedyWhenHot) {
  SequenceRunner runner(*executor_, shape_);
  runner.params().temperature = 2;
  runner.params().top_k = 1;
  EXPECT_THAT(drawn_tokens(runner.generate(kCapitalOfFrance, 5)), ElementsAre(7042, 30, 198, 198, 504));
}

/// Runs all prompts together, each step with slices of random length, until each has `count` tokens.
std::vector<TestSequence> generate_crowd(SequenceRunner& runner, std::vector<TestSequence> crowd, int32_t count,
                                         uint32_t seed) {
  std::mt19937 random(seed);
  const auto unfinished = [&](const TestSequence& one) { return static_cast<int32_t>(one.samples.size()) < count; };
  while (std::any_of(crowd.begin(), crowd.end(), unfinished)) {
    for (const bool decodes : {true, false}) {
      for (TestSequence& one : crowd) {
        if (!unfinished(one) || one.decodes() != decodes) continue;
        runner.add_slice(one, 1 + static_cast<int32_t>(random() % static_cast<uint32_t>(one.uncached())));
      }
    }
    runner.step();
  }
  return crowd;
}

TEST_P(DefaultModel, GivesARequestTheSameBitsAloneAndInACrowd) {
  constexpr int32_t kTokens = 6;
  std::vector<TestSequence> alone;
  std::vector<TestSequence> crowd;
  SequenceRunner runner(*executor_, shape_);
  const json cases = reference().at("cases");
  ASSERT_EQ(cases.size(), 9U);
  for (const json& example : cases) {
    alone.push_back(runner.generate(example.at("ids"), kTokens));
    crowd.push_back({.tokens = example.at("ids")});
  }
  crowd = generate_crowd(runner, crowd, kTokens, 7);
  for (size_t i = 0; i < alone.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(drawn_tokens(crowd[i]), drawn_tokens(alone[i]));
    for (size_t j = 0; j < kTokens; ++j) EXPECT_EQ(crowd[i].samples[j].logprob, alone[i].samples[j].logprob);
  }
}

TEST_P(DefaultModel, GivesTheSameBitsWithAnyNumberOfThreads) {
  const TestSequence two = SequenceRunner(*executor_, shape_).generate(kCapitalOfFrance, 4);
  ExecutorShape shape = shape_;
  shape.threads = 3;
  auto executor = make_executor(model_path(), shape);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const TestSequence three = SequenceRunner(**executor, shape).generate(kCapitalOfFrance, 4);
  EXPECT_EQ(drawn_tokens(two), drawn_tokens(three));
  EXPECT_EQ(two.samples.back().logprob, three.samples.back().logprob);
}

INSTANTIATE_TEST_SUITE_P(Isa, DefaultModel, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

}  // namespace
}  // namespace sluice::engine
