#include <algorithm>
#include <bit>
#include <numeric>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/softmax.h"
#include "tests/cuda/sampling_run.h"

namespace sluice::engine::cuda {
namespace {

// The kernels against the definitions, which copy, sort everything and compute in double.

constexpr double kTolerance = 1e-5;  // weights are floats

/// The tokens a draw may give, in the order in which their shares lie side by side.
struct Shares {
  std::vector<size_t> tokens;
  std::vector<double> weights;  // [tokens]
  bool is_on_edge = false;      // a weight decides the set, and floats may decide otherwise
};

/// Tokens above -infinity, likeliest first.
std::vector<size_t> sorted_tokens(const std::vector<float>& logits) {
  std::vector<size_t> tokens;
  for (size_t token = 0; token < logits.size(); ++token)
    if (logits[token] > -kInfinity) tokens.push_back(token);
  std::stable_sort(tokens.begin(), tokens.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  return tokens;
}

size_t count_of_top_p(const std::vector<double>& weights, double top_p, bool& is_on_edge) {
  const double mass = top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
  double passed = 0;
  size_t count = 0;
  while (count < weights.size() && passed < mass) {
    passed += weights[count++];
    is_on_edge |= std::abs(passed / mass - 1) < kTolerance;
  }
  return count;
}

Shares shares_of(const std::vector<float>& logits, const SamplingParams& params) {
  Shares shares;
  shares.tokens = sorted_tokens(logits);
  const bool has_top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  if (has_top_k) shares.tokens.resize(std::min(shares.tokens.size(), static_cast<size_t>(params.top_k)));
  const double max = static_cast<double>(logits[shares.tokens.front()]);
  const auto weight_of = [&](size_t token) {
    return std::exp((static_cast<double>(logits[token]) - max) / static_cast<double>(params.temperature));
  };
  for (const size_t token : shares.tokens) shares.weights.push_back(weight_of(token));
  if (params.top_p < 1.0F) {
    const size_t count = count_of_top_p(shares.weights, static_cast<double>(params.top_p), shares.is_on_edge);
    shares.weights.resize(count);
    shares.tokens.resize(count);
  }
  const auto min_p = static_cast<double>(params.min_p);
  for (const double weight : shares.weights) shares.is_on_edge |= std::abs(weight - min_p) < kTolerance * min_p;
  const auto end = std::find_if(shares.weights.begin(), shares.weights.end(), [&](double w) { return w < min_p; });
  shares.tokens.resize(static_cast<size_t>(end - shares.weights.begin()));
  if (!has_top_k) std::sort(shares.tokens.begin(), shares.tokens.end());
  shares.weights.clear();
  for (const size_t token : shares.tokens) shares.weights.push_back(weight_of(token));
  return shares;
}

/// The random number lies in the token's share.
void expect_in_share(const Shares& shares, double unit, int32_t token) {
  const auto found = std::find(shares.tokens.begin(), shares.tokens.end(), static_cast<size_t>(token));
  ASSERT_NE(found, shares.tokens.end());
  const auto before = shares.weights.begin() + (found - shares.tokens.begin());
  const double sum = std::accumulate(shares.weights.begin(), shares.weights.end(), 0.0);
  const double begin = std::accumulate(shares.weights.begin(), before, 0.0) / sum;
  EXPECT_GE(unit, begin - kTolerance);
  EXPECT_LE(unit, begin + *before / sum + kTolerance);
}

std::vector<SamplingCase> cases_over(int32_t vocab_size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<SamplingCase> cases;
  for (const float temperature : {0.5F, 1.0F, 2.0F}) {
    for (const int32_t top_k : {0, 2, 40, vocab_size / 2, vocab_size - 1}) {
      for (const float top_p : {0.1F, 0.5F, 0.9F, 0.99F, 1.0F}) {
        SamplingCase drawn{.logits = std::vector<float>(static_cast<size_t>(vocab_size))};
        const bool has_ties = random() % 2 == 0;
        for (float& logit : drawn.logits) logit = has_ties ? std::round(normal(random)) : 2 * normal(random);
        drawn.params = {.temperature = temperature, .top_k = top_k, .top_p = top_p};
        if (random() % 4 == 0) drawn.params.min_p = 0.07F;
        drawn.seed = random();
        cases.push_back(drawn);
      }
    }
  }
  return cases;
}

TEST(SamplingKernels, DrawWhereTheRandomNumberFalls) {
  int32_t edges = 0;
  int32_t draws = 0;
  for (const int32_t vocab_size : {17, 300, 1531}) {
    const std::vector<SamplingCase> cases = cases_over(vocab_size, static_cast<uint32_t>(vocab_size));
    const std::vector<SampledToken> sampled = SamplingRun(cases, {}, 4).sample();
    for (size_t row = 0; row < cases.size(); ++row, ++draws) {
      const Shares shares = shares_of(cases[row].logits, cases[row].params);
      if (shares.is_on_edge) ++edges;
      if (shares.is_on_edge) continue;
      SCOPED_TRACE(row);
      expect_in_share(shares, random_unit(cases[row].seed, cases[row].position), sampled[row].token);
    }
  }
  EXPECT_LT(edges, draws / 20);
}

TEST(SamplingKernels, ChangeLogitsAsTheCpuDoes) {
  CaseSource source(6);
  std::vector<SamplingCase> cases;
  for (int32_t i = 0; i < 60; ++i) {
    cases.push_back(source.draw(531));
    cases.back().allowed.clear();
  }
  SamplingRun run(cases, {}, 1);
  run.apply();
  for (size_t row = 0; row < cases.size(); ++row) {
    const std::vector<float> expected = changed_logits(cases[row]);
    EXPECT_EQ(std::memcmp(expected.data(), &run.values()[row * expected.size()], expected.size() * sizeof(float)), 0);
  }
}

// Each token's share of draws with seeds that follow each other is its probability.
TEST(SamplingKernels, DrawAsOftenAsLikely) {
  constexpr int32_t kDraws = 600;
  std::vector<SamplingCase> cases;
  for (uint64_t position = 0; position < kDraws; ++position)
    cases.push_back({.logits = {0.0F, std::log(2.0F), -kInfinity, std::log(3.0F)}, .seed = 9, .position = position});
  std::vector<int32_t> counts(4);
  for (const SampledToken& sampled : SamplingRun(cases, {}, 16).sample()) ++counts[static_cast<size_t>(sampled.token)];
  EXPECT_NEAR(counts[0], kDraws / 6, 30);
  EXPECT_NEAR(counts[1], kDraws / 3, 40);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3], kDraws / 2, 40);
}

TEST(SamplingKernels, DrawTheFirstTokenWhereAGrammarAllowsNone) {
  const std::vector<SamplingCase> cases = {
      {.logits = std::vector<float>(40, 1.0F), .params = {.temperature = 0.7F}, .allowed = {0, 0}},
      {.logits = std::vector<float>(40, 1.0F), .params = {.temperature = 0.7F}, .allowed = {0, 0x80}},
  };
  const std::vector<SampledToken> sampled = SamplingRun(cases, {}, 1).sample();
  EXPECT_EQ(sampled[0].token, 0);
  EXPECT_EQ(sampled[1].token, 39);
}

// Blocks of the simulation run one after the other and would not disturb each other in one room.
TEST(SamplingKernels, KeepCandidatesInTheBlocksOwnRoom) {
  const std::vector<SamplingCase> cases(3, {.logits = std::vector<float>(300, 1.0F), .params = {.min_p = 0.1F}});
  SamplingRun run(cases, {}, 3);
  run.sample();
  for (size_t i = 0; i < run.room_tokens().size(); ++i) EXPECT_EQ(run.room_tokens()[i], static_cast<int32_t>(i % 300));
}

}  // namespace
}  // namespace sluice::engine::cuda
