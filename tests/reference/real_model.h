#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/engine/sequence_runner.h"

// How a real model's answers are held against those of its original library (tests/data/reference/).

namespace sluice::engine {

inline std::string model_path(const std::string& file) {
  const char* folder = std::getenv("SLUICE_MODELS");
  return std::string(folder != nullptr ? folder : SLUICE_MODELS) + "/" + file;
}

inline nlohmann::json reference_of(const std::string& name) {
  std::ifstream file(SLUICE_SOURCE_DIR "/tests/data/reference/" + name + ".json");
  return nlohmann::json::parse(file);
}

/// What the model says after each token of a text: the log-probability of the text's next token and the likeliest
/// tokens.
inline std::vector<SampledToken> score_text(SequenceRunner& runner, const std::vector<int32_t>& ids, int32_t slice) {
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

/// How a passage's scores differ from the reference's.
struct PassageFit {
  double mean_logprob_difference = 0;
  double perplexity_ratio = 0;
  int clear = 0;   ///< places where the reference's two likeliest tokens lie apart
  int agreed = 0;  ///< of those, where the likeliest is the same
};

inline PassageFit fit_passage(SequenceRunner& runner, const nlohmann::json& passage) {
  const std::vector<int32_t> ids = passage.at("ids");
  const std::vector<double> expected = passage.at("logprobs");
  const std::vector<int32_t> top1 = passage.at("top1");
  const std::vector<double> gap = passage.at("gap");
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

inline PassageFit fit_passage(ModelExecutor& executor, const ExecutorShape& shape, const nlohmann::json& passage) {
  SequenceRunner runner(executor, shape);
  return fit_passage(runner, passage);
}

/// |difference| of the ten likeliest first tokens' log-probabilities.
inline std::vector<double> top10_differences(const SampledToken& first, const nlohmann::json& top10) {
  std::map<int32_t, float> logprobs;
  for (const TokenLogprob& candidate : first.top) logprobs[candidate.token] = candidate.logprob;
  std::vector<double> differences;
  for (const nlohmann::json& candidate : top10) {
    const auto found = logprobs.find(candidate[0].get<int32_t>());
    EXPECT_NE(found, logprobs.end()) << candidate;
    if (found == logprobs.end()) continue;
    differences.push_back(std::abs(static_cast<double>(found->second) - candidate[1].get<double>()));
  }
  return differences;
}

/// Greedy tokens equal the reference's as long as those are clear, and the likeliest first tokens have nearly its
/// log-probabilities: 0.15 apart on average and `difference_max` at most.
inline void expect_greedy_tokens(SequenceRunner& runner, const nlohmann::json& cases, double difference_max) {
  double total = 0;
  int count = 0;
  for (const nlohmann::json& example : cases) {
    SCOPED_TRACE(example.at("prompt").get<std::string>());
    const nlohmann::json& rows = example.at("greedy");
    size_t clear = 0;
    while (clear < rows.size() && rows[clear][2].get<double>() >= 0.3) ++clear;
    const TestSequence result = runner.generate(example.at("ids"), static_cast<int32_t>(std::max<size_t>(clear, 1)));
    for (size_t i = 0; i < clear; ++i) EXPECT_EQ(result.samples[i].token, rows[i][0].get<int32_t>()) << i;
    for (const double difference : top10_differences(result.samples.front(), example.at("first_top10"))) {
      EXPECT_LE(difference, difference_max);
      total += difference;
      ++count;
    }
  }
  EXPECT_LE(total / count, 0.15);
}

inline void expect_greedy_tokens(ModelExecutor& executor, const ExecutorShape& shape, const nlohmann::json& cases,
                                 double difference_max) {
  SequenceRunner runner(executor, shape);
  expect_greedy_tokens(runner, cases, difference_max);
}

}  // namespace sluice::engine
