#include "engine/penalties.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

struct History {
  std::vector<int32_t> prompt;
  std::vector<int32_t> output;
};

std::vector<float> adjusted(const std::vector<float>& logits, const SamplingParams& params, const History& history,
                            SamplerScratch& scratch) {
  const SampleRow row{.params = &params, .prompt = history.prompt, .output = history.output};
  const std::span<const float> result = adjusted_logits(logits, row, scratch);
  return {result.begin(), result.end()};
}

std::vector<float> adjusted(const std::vector<float>& logits, const SamplingParams& params, const History& history) {
  SamplerScratch scratch;
  std::vector<float> result = adjusted(logits, params, history, scratch);
  EXPECT_THAT(scratch.counts, Each(0));
  return result;
}

TEST(Penalties, LendsTheLogitsThemselvesWhenNothingIsOn) {
  const std::vector<float> logits = {1.0F, 2.0F};
  const SamplingParams params;
  const std::vector<int32_t> tokens = {0, 1};
  SamplerScratch scratch;
  const SampleRow row{.params = &params, .prompt = tokens, .output = tokens};
  EXPECT_EQ(adjusted_logits(logits, row, scratch).data(), logits.data());
  EXPECT_TRUE(scratch.adjusted.empty());
  EXPECT_TRUE(scratch.counts.empty());
}

TEST(Penalties, RepetitionDividesPositiveAndMultipliesNegativeLogitsOnce) {
  const std::vector<float> logits = {4.0F, -4.0F, 4.0F, -4.0F, 4.0F};
  const SamplingParams params{.repetition_penalty = 2.0F};
  EXPECT_THAT(adjusted(logits, params, {{0, 0, 1}, {1, 0, 2, 2}}), ElementsAre(2.0F, -8.0F, 2.0F, -4.0F, 4.0F));
}

TEST(Penalties, PresenceCountsOnceAndOnlyTheOutput) {
  const SamplingParams params{.presence_penalty = 0.5F};
  EXPECT_THAT(adjusted({1.0F, 1.0F, 1.0F}, params, {{0, 1}, {1, 1, 1}}), ElementsAre(1.0F, 0.5F, 1.0F));
}

TEST(Penalties, FrequencyCountsEachOccurrenceInTheOutput) {
  const SamplingParams params{.frequency_penalty = 0.5F};
  EXPECT_THAT(adjusted({1.0F, 1.0F, 1.0F}, params, {{0, 1}, {1, 2, 1, 1}}), ElementsAre(1.0F, -0.5F, 0.5F));
}

TEST(Penalties, NegativeOnesEncourage) {
  const SamplingParams params{.presence_penalty = -1.0F, .frequency_penalty = -0.25F};
  EXPECT_THAT(adjusted({1.0F, 1.0F}, params, {{}, {1, 1}}), ElementsAre(1.0F, 2.5F));
}

TEST(Penalties, RepetitionComesBeforePresenceAndBias) {
  const SamplingParams params{.repetition_penalty = 2.0F, .presence_penalty = 1.0F, .logit_bias = {{0, 10.0F}}};
  EXPECT_THAT(adjusted({4.0F}, params, {{}, {0}}), ElementsAre(11.0F));
}

TEST(Penalties, BiasAddsUpPerEntry) {
  const SamplingParams params{.logit_bias = {{1, 1.0F}, {1, 2.0F}, {2, -1.0F}}};
  EXPECT_THAT(adjusted({0.0F, 0.0F, 0.0F}, params, {}), ElementsAre(0.0F, 3.0F, -1.0F));
}

TEST(Penalties, ExtremeOnesStayFinite) {
  constexpr float kTiniest = std::numeric_limits<float>::denorm_min();
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_THAT(adjusted({5.0F}, {.repetition_penalty = kTiniest}, {{0}, {}}), ElementsAre(kMax));
  EXPECT_THAT(adjusted({-5.0F}, {.repetition_penalty = kMax}, {{0}, {}}), ElementsAre(-kMax));
}

TEST(Penalties, ScratchMayMoveBetweenVocabularies) {
  SamplerScratch scratch;
  const SamplingParams params{.frequency_penalty = 1.0F};
  EXPECT_THAT(adjusted({1.0F, 1.0F, 1.0F}, params, {{}, {2, 2}}, scratch), ElementsAre(1.0F, 1.0F, -1.0F));
  EXPECT_THAT(adjusted({1.0F}, params, {{}, {0}}, scratch), ElementsAre(0.0F));
  EXPECT_THAT(adjusted({1.0F, 1.0F, 1.0F, 1.0F}, params, {{}, {3}}, scratch), ElementsAre(1.0F, 1.0F, 1.0F, 0.0F));
}

}  // namespace
}  // namespace sluice::engine
