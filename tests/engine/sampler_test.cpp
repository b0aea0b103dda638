#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// A sampler with fixed logits and options: draws by seed and position.
struct Sampled {
  std::vector<float> logits;
  SamplingParams params;
  std::vector<int32_t> prompt = {};
  std::vector<int32_t> output = {};

  SampledToken sample(uint64_t seed, uint64_t position, int32_t scored_token = -1) const {
    SamplerScratch scratch;
    return sample_with(scratch, seed, position, scored_token);
  }
  SampledToken sample_with(SamplerScratch& scratch, uint64_t seed, uint64_t position, int32_t scored_token = -1) const {
    const SampleRow row{.scored_token = scored_token,
                        .params = &params,
                        .prompt = prompt,
                        .output = output,
                        .seed = seed,
                        .position = position};
    std::vector<float> values = logits;
    std::vector<float> tops(logit_block_count(logits.size()));
    fill_block_tops(values, tops);
    return sample_token(LogitRow{values, tops}, row, scratch);
  }
  int32_t draw(uint64_t seed = 1, uint64_t position = 0) const { return sample(seed, position).token; }
};

/// Something like a model's logits: a bell curve a few units wide, on a grid so that every machine has the same.
std::vector<float> model_like_logits(size_t count, uint64_t seed) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    int32_t sum = 0;
    for (uint64_t j = 0; j < 4; ++j) sum += static_cast<int32_t>(random_bits(seed, 4 * i + j) % 256);
    logits[i] = static_cast<float>(sum - 512) / 32.0F;
  }
  return logits;
}

double weight_of(const Sampled& sampled, double logit, double max) {
  return std::exp((logit - max) / static_cast<double>(sampled.params.temperature));
}

/// The distribution by the book, in double: sort all, keep k, keep p, drop below min_p. Without penalties.
std::map<int32_t, double> reference_distribution(const Sampled& sampled) {
  std::vector<std::pair<double, int32_t>> order;
  for (size_t i = 0; i < sampled.logits.size(); ++i) {
    double logit = static_cast<double>(sampled.logits[i]);
    for (const LogitBias& bias : sampled.params.logit_bias) {
      if (static_cast<size_t>(bias.token) == i) logit += static_cast<double>(bias.bias);
    }
    order.emplace_back(-logit, static_cast<int32_t>(i));
  }
  std::sort(order.begin(), order.end());
  if (sampled.params.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(sampled.params.top_k)));
  const double max = -order.front().first;
  double total = 0;
  for (const auto& entry : order) total += weight_of(sampled, -entry.first, max);

  std::map<int32_t, double> kept;
  double passed = 0;
  double kept_total = 0;
  for (const auto& [negated, token] : order) {
    if (sampled.params.top_p < 1.0F && passed >= static_cast<double>(sampled.params.top_p) * total) break;
    const double weight = weight_of(sampled, -negated, max);
    passed += weight;
    if (weight < static_cast<double>(sampled.params.min_p)) continue;
    kept[token] = weight;
    kept_total += weight;
  }
  for (auto& [token, probability] : kept) probability /= kept_total;
  return kept;
}

double sigma_of(int draws, double probability) {
  return std::sqrt(draws * probability * std::max(0.0, 1 - probability));
}

/// Nothing is drawn that should have been cut off, and the rest as often as it should, within 5 sigma.
void expect_frequencies(const Sampled& sampled, int draws, uint64_t seed) {
  const std::map<int32_t, double> expected = reference_distribution(sampled);
  std::map<int32_t, int> counts;
  SamplerScratch scratch;
  for (int i = 0; i < draws; ++i) ++counts[sampled.sample_with(scratch, seed, static_cast<uint64_t>(i)).token];
  for (const auto& [token, count] : counts) {
    ASSERT_TRUE(expected.contains(token)) << "token " << token << " should have been cut off, seed " << seed;
  }
  int rare_count = 0;
  double rare_probability = 0;
  for (const auto& [token, probability] : expected) {
    if (draws * probability < 20) {  // too few for a normal distribution: judged together
      rare_count += counts[token];
      rare_probability += probability;
      continue;
    }
    ASSERT_NEAR(counts[token], draws * probability, 5 * sigma_of(draws, probability))
        << "token " << token << ", seed " << seed;
  }
  ASSERT_NEAR(rare_count, draws * rare_probability, 5 * sigma_of(draws, rare_probability) + 3) << "seed " << seed;
}

const std::vector<float> kEight = {0.0F, 2.0F, -1.0F, 1.5F, 2.5F, -30.0F, 0.5F, 1.0F};

TEST(Sampler, GreedyTakesTheLowestOfEqualTokens) {
  EXPECT_EQ((Sampled{{1.0F, 3.0F, 3.0F, 3.0F}, {.temperature = 0.0F}}).draw(), 1);
  EXPECT_EQ((Sampled{{-1.0F, -1.0F}, {.temperature = 0.0F}}).draw(), 0);
  EXPECT_EQ((Sampled{{1.0F, 3.0F, 3.0F}, {.top_k = 1}}).draw(), 1);
}

TEST(Sampler, NeverDrawsWhatIsNoNumber) {
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 0.0F}, SamplingParams{}, SamplingParams{.top_k = 3},
        SamplingParams{.top_p = 0.9F}, SamplingParams{.min_p = 0.1F}}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      EXPECT_EQ((Sampled{{kNan, -kInfinity, 1.0F, kNan}, params}).draw(seed), 2);
      EXPECT_EQ((Sampled{{kNan, 1.0F, kInfinity, kNan}, params}).draw(seed), 2);
      EXPECT_EQ((Sampled{{kNan, kNan}, params}).draw(seed), 0);
      EXPECT_EQ((Sampled{{-kInfinity, -kInfinity}, params}).draw(seed), 0);
    }
  }
}

TEST(Sampler, AVocabularyOfOneTokenHasOneAnswer) {
  for (const SamplingParams& params : {SamplingParams{}, SamplingParams{.temperature = 0.0F},
                                       SamplingParams{.top_k = 5, .top_p = 0.1F, .min_p = 1.0F}}) {
    EXPECT_EQ((Sampled{{-3.0F}, params}).draw(), 0);
  }
}

TEST(B14_Sampling, abcde_SmallTemperaturesAndTopKOneAreGreedy) {
  const std::vector<float> logits = model_like_logits(49152, 3);
  const int32_t greedy = (Sampled{logits, {.temperature = 0.0F}}).draw();
  EXPECT_EQ(logits[static_cast<size_t>(greedy)], *std::max_element(logits.begin(), logits.end()));
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 1e-8F}, SamplingParams{.temperature = 1e-45F},
        SamplingParams{.temperature = 1.0F, .top_k = 1}, SamplingParams{.temperature = 2.0F, .top_k = 1}}) {
    for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ((Sampled{logits, params}).draw(seed), greedy);
  }
  const Sampled cold{{0.0F, 1.0F, 0.99F}, {.temperature = 1e-4F}};
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(cold.draw(seed), 1);
}

TEST(B14_Sampling, TheGreedyLimitHasTwoSides) {
  const Sampled at_the_limit{{0.0F, -1e-5F}, {.temperature = SamplingParams::kGreedyTemperature}};
  Sampled below = at_the_limit;
  below.params.temperature = std::nextafter(SamplingParams::kGreedyTemperature, 0.0F);
  expect_frequencies(at_the_limit, 2000, 5);
  for (uint64_t seed = 0; seed < 100; ++seed) EXPECT_EQ(below.draw(seed), 0);
}

TEST(B14_Sampling, f_AHugeTemperatureIsUniform) {
  for (const float temperature : {1e30F, std::numeric_limits<float>::max()}) {
    expect_frequencies({kEight, {.temperature = temperature}}, 20000, 11);
    expect_frequencies({kEight, {.temperature = temperature, .top_k = 4}}, 20000, 11);
    expect_frequencies({kEight, {.temperature = temperature, .top_p = 0.6F}}, 20000, 11);
  }
}

TEST(B14_Sampling, g_TopKThatKeepsAllIsOff) {
  const std::vector<float> logits = model_like_logits(49152, 4);
  for (uint64_t position = 0; position < 20; ++position) {
    const int32_t off = (Sampled{logits, {.top_k = 0}}).draw(1, position);
    EXPECT_EQ((Sampled{logits, {.top_k = 49152}}).draw(1, position), off);
    EXPECT_EQ((Sampled{logits, {.top_k = 9999999}}).draw(1, position), off);
  }
}

TEST(B14_Sampling, h_TopPOfOneKeepsTheTail) {
  const Sampled even{std::vector<float>(300, 1.25F), {.top_p = 1.0F}};
  std::set<int32_t> drawn;
  SamplerScratch scratch;
  for (uint64_t position = 0; position < 6000; ++position) drawn.insert(even.sample_with(scratch, 9, position).token);
  EXPECT_EQ(drawn.size(), 300U);
}

TEST(B14_Sampling, ATinyTopPStillKeepsTheLikeliest) {
  for (const float top_p : {std::numeric_limits<float>::denorm_min(), 1e-9F, 0.01F}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ((Sampled{kEight, {.top_p = top_p}}).draw(seed), 4);
      EXPECT_EQ((Sampled{kEight, {.top_k = 3, .top_p = top_p}}).draw(seed), 4);
      EXPECT_EQ((Sampled{std::vector<float>(9, 0.0F), {.top_p = top_p}}).draw(seed), 0);
    }
  }
}

TEST(B14_Sampling, AMinPOfOneKeepsOnlyTheLikeliestAndItsEquals) {
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ((Sampled{kEight, {.min_p = 1.0F}}).draw(seed), 4);
  expect_frequencies({{1.0F, 0.0F, 1.0F}, {.min_p = 1.0F}}, 2000, 3);
}

TEST(SamplerFrequencies, FollowTemperature) {
  expect_frequencies({kEight, {}}, 20000, 1);
  expect_frequencies({kEight, {.temperature = 0.5F}}, 20000, 2);
  expect_frequencies({kEight, {.temperature = 3.0F}}, 20000, 3);
}

TEST(SamplerFrequencies, FollowEachCut) {
  expect_frequencies({kEight, {.top_k = 3}}, 20000, 1);
  expect_frequencies({kEight, {.top_p = 0.8F}}, 20000, 2);
  expect_frequencies({kEight, {.min_p = 0.3F}}, 20000, 3);
  expect_frequencies({kEight, {.temperature = 1.5F, .top_k = 5, .top_p = 0.9F, .min_p = 0.25F}}, 20000, 4);
  expect_frequencies({kEight, {.logit_bias = {{5, 32.0F}, {4, -1.0F}}}}, 20000, 5);
}

TEST(SamplerFrequencies, FollowTheReferenceForManyOptionsAndVocabularies) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto unit = [&](uint64_t counter) { return static_cast<float>(random_unit(seed, counter)); };
    Sampled sampled{model_like_logits(1 + random_bits(seed, 0) % 700, seed), {}};
    sampled.params.temperature = 0.1F + 3.0F * unit(1);
    if (unit(2) < 0.5F) sampled.params.top_k = static_cast<int32_t>(1 + random_bits(seed, 3) % 300);
    if (unit(4) < 0.5F) sampled.params.top_p = 0.05F + 0.95F * unit(5);
    if (unit(6) < 0.5F) sampled.params.min_p = unit(7) * unit(8);
    expect_frequencies(sampled, 1000, seed);
  }
}

TEST(SamplerFrequencies, TopPFindsLongHeads) {
  const std::vector<float> flat = model_like_logits(2000, 8);
  expect_frequencies({flat, {.temperature = 50.0F, .top_p = 0.7F}}, 2000, 1);
  expect_frequencies({flat, {.temperature = 50.0F, .top_p = std::nextafter(1.0F, 0.0F)}}, 2000, 2);
}

TEST(Sampler, PenaltiesChangeTheDraw) {
  Sampled sampled{{3.0F, 2.5F, 0.0F}, {.temperature = 0.0F, .repetition_penalty = 2.0F}};
  EXPECT_EQ(sampled.draw(), 0);
  sampled.prompt = {0};
  EXPECT_EQ(sampled.draw(), 1);
  sampled.params = {.temperature = 0.0F, .presence_penalty = 1.0F};
  EXPECT_EQ(sampled.draw(), 0);
  sampled.output = {0};
  EXPECT_EQ(sampled.draw(), 1);
}

TEST(Sampler, GreedyWithoutPenaltiesNeedsNoMemory) {
  const Sampled sampled{model_like_logits(1000, 1), {.temperature = 0.0F}, {1, 2, 3}, {4, 5}};
  SamplerScratch scratch;
  sampled.sample_with(scratch, 1, 1);
  EXPECT_EQ(scratch.top.candidates.capacity() + scratch.likeliest.capacity() + scratch.chunk_sums.capacity() +
                scratch.penalties.counts.capacity(),
            0U);
}

TEST(B15_LogitBias, g_AHundredForcesAToken) {
  const std::vector<float> logits = model_like_logits(49152, 5);
  for (const float temperature : {0.0F, 1.0F}) {
    const Sampled forced{logits, {.temperature = temperature, .logit_bias = {{787, 100.0F}}}};
    for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(forced.draw(seed), 787);
  }
}

TEST(B15_LogitBias, h_MinusAHundredForbidsAToken) {
  const std::vector<float> logits = model_like_logits(49152, 6);
  Sampled sampled{logits, {.temperature = 0.0F}};
  const SampledToken best = (Sampled{logits, {.temperature = 0.0F, .top_logprobs = 2}}).sample(1, 0);
  sampled.params.logit_bias = {{best.token, -100.0F}};
  EXPECT_EQ(sampled.draw(), best.top[1].token);
}

TEST(B15_LogitBias, i_AnEmptyBiasChangesNothing) {
  const std::vector<float> logits = model_like_logits(1000, 7);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ((Sampled{logits, {.logit_bias = {}}}).draw(seed),
              (Sampled{logits, {.logit_bias = {{9, 0.0F}}}}).draw(seed));
  }
}

TEST(B16_Seed, abcd_ADrawDependsOnSeedAndPositionOnly) {
  const Sampled sampled{model_like_logits(3000, 8), {.temperature = 0.8F}};
  const Sampled stranger{
      model_like_logits(777, 9), {.top_k = 9, .top_p = 0.9F, .frequency_penalty = 1.0F}, {3}, {5, 5}};
  std::vector<int32_t> alone;
  for (uint64_t position = 0; position < 16; ++position) alone.push_back(sampled.draw(42, position));
  SamplerScratch shared;
  for (uint64_t position = 16; position-- > 0;) {
    stranger.sample_with(shared, random_bits(1, position), position);
    EXPECT_EQ(sampled.sample_with(shared, 42, position).token, alone[position]);
    stranger.sample_with(shared, 42, position);
  }
}

TEST(B16_Seed, e_SeedsAndPositionsGiveDifferentDraws) {
  const Sampled even{std::vector<float>(1000, 0.0F), {}};
  std::set<int32_t> by_seed;
  std::set<int32_t> by_position;
  for (uint64_t i = 0; i < 100; ++i) {
    by_seed.insert(even.draw(i, 0));
    by_position.insert(even.draw(0, i));
  }
  EXPECT_GT(by_seed.size(), 80U);  // about 95 of 100 draws from 1000 differ
  EXPECT_GT(by_position.size(), 80U);
}

TEST(B16_Seed, f_EverySeedWorks) {
  const Sampled sampled{model_like_logits(100, 10), {}};
  for (const uint64_t seed : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63}) {
    const int32_t token = sampled.draw(seed);
    EXPECT_GE(token, 0);
    EXPECT_LT(token, 100);
    EXPECT_EQ(sampled.draw(seed), token);
  }
}

// Pinned: a change of these numbers changes what every user gets for a seed.
TEST(B16_Seed, TheSameTokensOnEveryMachineAndInEveryRelease) {
  const std::vector<float> logits = model_like_logits(49152, 12);
  const auto four = [&](const SamplingParams& params) {
    const Sampled sampled{logits, params};
    return std::vector<int32_t>{sampled.draw(42, 0), sampled.draw(42, 1), sampled.draw(42, 2), sampled.draw(7, 0)};
  };
  EXPECT_THAT(four({}), ElementsAre(17543, 46800, 24577, 36211));
  EXPECT_THAT(four({.temperature = 0.8F, .top_k = 40}), ElementsAre(5262, 37572, 28621, 47974));
  EXPECT_THAT(four({.temperature = 1.3F, .top_p = 0.9F, .min_p = 0.01F}), ElementsAre(17543, 46800, 24192, 35902));
}

double reference_logprob(const std::vector<float>& logits, int32_t token) {
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - 20.0);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - 20.0 - std::log(total);
}

TEST(Logprobs, AreNotReportedUnlessAskedFor) {
  const SampledToken sampled = (Sampled{kEight, {.top_logprobs = -1}}).sample(1, 0);
  EXPECT_EQ(sampled.logprob, 0.0F);
  EXPECT_TRUE(sampled.top.empty());
}

TEST(Logprobs, AreThoseOfTheModelWhateverTheOptions) {
  const std::vector<float> logits = model_like_logits(49152, 13);
  const SamplingParams params{.temperature = 0.5F,
                              .top_k = 10,
                              .repetition_penalty = 1.5F,
                              .presence_penalty = 1.0F,
                              .logit_bias = {{77, 90.0F}},
                              .top_logprobs = 3};
  const SampledToken sampled = (Sampled{logits, params, {1, 2}, {77, 3}}).sample(1, 0);
  EXPECT_EQ(sampled.token, 77);
  EXPECT_NEAR(sampled.logprob, reference_logprob(logits, 77), 1e-5);
  ASSERT_EQ(sampled.top.size(), 3U);
  for (const TokenLogprob& alternative : sampled.top) {
    EXPECT_NEAR(alternative.logprob, reference_logprob(logits, alternative.token), 1e-5);
  }
}

TEST(Logprobs, ListAlternativesBestFirstLowerIdsFirst) {
  const auto top_of = [](int32_t count) {
    const SampledToken sampled = (Sampled{{1.0F, 2.0F, 2.0F, 0.0F, 3.0F}, {.top_logprobs = count}}).sample(1, 0);
    std::vector<int32_t> tokens;
    for (const TokenLogprob& alternative : sampled.top) tokens.push_back(alternative.token);
    return tokens;
  };
  EXPECT_THAT(top_of(0), ElementsAre());
  EXPECT_THAT(top_of(3), ElementsAre(4, 1, 2));
  EXPECT_THAT(top_of(20), ElementsAre(4, 1, 2, 0, 3));
}

TEST(Logprobs, AskingForThemDoesNotChangeTheDraw) {
  const std::vector<float> logits = model_like_logits(1000, 14);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ((Sampled{logits, {.top_p = 0.9F, .top_logprobs = 20}}).draw(seed),
              (Sampled{logits, {.top_p = 0.9F}}).draw(seed));
  }
}

TEST(Logprobs, ScoreAGivenTokenInsteadOfDrawing) {
  const std::vector<float> logits = model_like_logits(1000, 15);
  for (const int32_t token : {0, 999}) {
    const SampledToken scored = (Sampled{logits, {.temperature = 0.0F, .top_logprobs = 2}}).sample(1, 0, token);
    EXPECT_EQ(scored.token, token);
    EXPECT_NEAR(scored.logprob, reference_logprob(logits, token), 1e-5);
    EXPECT_EQ(scored.top.size(), 2U);
    const SampledToken without_top = (Sampled{logits, {.top_logprobs = -1}}).sample(1, 0, token);
    EXPECT_EQ(without_top.logprob, scored.logprob);
    EXPECT_TRUE(without_top.top.empty());
  }
}

TEST(Logprobs, SurviveLogitsFarApart) {
  const SampledToken sampled = (Sampled{{1e4F, -1e4F}, {.top_logprobs = 2}}).sample(1, 0);
  EXPECT_EQ(sampled.logprob, 0.0F);
  EXPECT_EQ(sampled.top[1].logprob, -2e4F);
}

}  // namespace
}  // namespace sluice::engine
