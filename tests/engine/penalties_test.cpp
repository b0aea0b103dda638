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

/// The logits as the penalties leave them. Checks that they can be taken back, and that the tops stay true.
std::vector<float> adjusted(const std::vector<float>& logits, const SamplingParams& params, const History& history,
                            PenaltyScratch& scratch) {
  const SampleRow row{.params = &params, .prompt = history.prompt, .output = history.output};
  std::vector<float> values = logits;
  std::vector<float> tops(logit_block_count(logits.size()));
  fill_block_tops(values, tops);
  const std::vector<float> own_tops = tops;
  apply_penalties({values, tops}, row, scratch);
  const std::vector<float> changed = values;
  std::vector<float> changed_tops(tops.size());
  fill_block_tops(changed, changed_tops);
  EXPECT_EQ(tops, changed_tops);
  undo_penalties({values, tops}, scratch);
  EXPECT_EQ(values, logits);
  EXPECT_EQ(tops, own_tops);
  EXPECT_THAT(scratch.counts, Each(0));
  return changed;
}

std::vector<float> adjusted(const std::vector<float>& logits, const SamplingParams& params, const History& history) {
  PenaltyScratch scratch;
  return adjusted(logits, params, history, scratch);
}

TEST(Penalties, ChangeNothingWhenNoneIsOn) {
  PenaltyScratch scratch;
  EXPECT_THAT(adjusted({1.0F, 2.0F}, {}, {{0, 1}, {0, 1}}, scratch), ElementsAre(1.0F, 2.0F));
  EXPECT_EQ(scratch.counts.capacity() + scratch.changes.capacity(), 0U);
}

TEST(Penalties, TouchOnlyTheTokensTheyName) {
  std::vector<float> logits(100, 3.0F);
  std::vector<float> expected = logits;
  expected[17] = 1.0F;
  expected[99] = 5.0F;
  PenaltyScratch scratch;
  EXPECT_EQ(adjusted(logits, {.presence_penalty = 2.0F, .logit_bias = {{99, 2.0F}}}, {{}, {17, 17}}, scratch),
            expected);
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
  PenaltyScratch scratch;
  const SamplingParams params{.frequency_penalty = 1.0F};
  EXPECT_THAT(adjusted({1.0F, 1.0F, 1.0F}, params, {{}, {2, 2}}, scratch), ElementsAre(1.0F, 1.0F, -1.0F));
  EXPECT_THAT(adjusted({1.0F}, params, {{}, {0}}, scratch), ElementsAre(0.0F));
  EXPECT_THAT(adjusted({1.0F, 1.0F, 1.0F, 1.0F}, params, {{}, {3}}, scratch), ElementsAre(1.0F, 1.0F, 1.0F, 0.0F));
}

}  // namespace
}  // namespace sluice::engine
