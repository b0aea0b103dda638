#include "engine/sampling.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kVocab = 49152;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

void expect_refused(const SamplingParams& params, std::string_view field) {
  const Status status = params.validate(kVocab);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << field;
  EXPECT_EQ(status.field(), field);
  EXPECT_THAT(status.message(), ::testing::StartsWith(std::string(field) + " "));
}

void expect_accepted(const SamplingParams& params) {
  const Status status = params.validate(kVocab);
  EXPECT_TRUE(status.ok()) << status;
}

/// The smallest and largest accepted value of an option; their neighbours and what is no number are refused.
void expect_range(float SamplingParams::*option, std::string_view field, float low, float high) {
  const auto with = [&](float value) {
    SamplingParams params;
    params.*option = value;
    return params;
  };
  expect_accepted(with(low));
  expect_accepted(with(high));
  expect_refused(with(std::nextafter(low, -kInfinity)), field);
  if (high < std::numeric_limits<float>::max()) expect_refused(with(std::nextafter(high, kInfinity)), field);
  for (const float bad : {kNan, kInfinity, -kInfinity}) expect_refused(with(bad), field);
}

TEST(SamplingParams, DefaultsAreValid) {
  expect_accepted(SamplingParams());
}

TEST(SamplingParams, PenaltiesAloneLookAtTheTokensSoFar) {
  EXPECT_FALSE(SamplingParams{}.has_penalties());
  EXPECT_FALSE((SamplingParams{.temperature = 0, .top_k = 5, .logit_bias = {{.token = 1, .bias = 2}}}).has_penalties());
  EXPECT_TRUE(SamplingParams{.repetition_penalty = 1.1F}.has_penalties());
  EXPECT_TRUE(SamplingParams{.presence_penalty = -0.1F}.has_penalties());
  EXPECT_TRUE(SamplingParams{.frequency_penalty = 0.1F}.has_penalties());
}

TEST(SamplingParams, FloatsHaveTheirRanges) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kTiniest = std::numeric_limits<float>::denorm_min();
  expect_range(&SamplingParams::temperature, "temperature", 0.0F, kMax);
  expect_range(&SamplingParams::top_p, "top_p", kTiniest, 1.0F);
  expect_range(&SamplingParams::min_p, "min_p", 0.0F, 1.0F);
  expect_range(&SamplingParams::repetition_penalty, "repetition_penalty", kTiniest, kMax);
  expect_range(&SamplingParams::presence_penalty, "presence_penalty", -2.0F, 2.0F);
  expect_range(&SamplingParams::frequency_penalty, "frequency_penalty", -2.0F, 2.0F);
}

TEST(SamplingParams, CountsHaveTheirRanges) {
  expect_refused({.top_k = -1}, "top_k");
  expect_accepted({.top_k = 0});
  expect_accepted({.top_k = std::numeric_limits<int32_t>::max()});
  expect_refused({.top_logprobs = -2}, "logprobs");
  expect_accepted({.top_logprobs = -1});
  expect_accepted({.top_logprobs = 20});
  expect_refused({.top_logprobs = 21}, "logprobs");
}

TEST(B14_Sampling, jklm_RefusesValuesOutOfRange) {
  expect_refused({.temperature = -1.0F}, "temperature");
  expect_refused({.top_k = -2}, "top_k");
  expect_refused({.top_p = 1.5F}, "top_p");
  expect_refused({.min_p = -0.1F}, "min_p");
}

TEST(B15_LogitBias, ab_RefusesTokensOutsideTheVocabularyByTheirId) {
  for (const int32_t token : {-1, kVocab, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    const SamplingParams params{.logit_bias = {{5, 1.0F}, {token, 5.0F}}};
    expect_refused(params, "logit_bias");
    EXPECT_THAT(params.validate(kVocab).message(), HasSubstr("token " + std::to_string(token) + ","));
  }
  expect_accepted({.logit_bias = {{0, 5.0F}, {kVocab - 1, 5.0F}}});
}

TEST(B15_LogitBias, f_RefusesBiasesBeyondAHundred) {
  for (const float bad : {1e9F, std::nextafter(100.0F, 200.0F), std::nextafter(-100.0F, -200.0F), kNan, kInfinity}) {
    const SamplingParams params{.logit_bias = {{787, bad}}};
    expect_refused(params, "logit_bias");
    EXPECT_THAT(params.validate(kVocab).message(), HasSubstr("token 787"));
  }
  expect_accepted({.logit_bias = {{787, 100.0F}, {788, -100.0F}}});
}

TEST(B15_LogitBias, i_AnEmptyBiasIsValid) {
  expect_accepted({.logit_bias = {}});
}

}  // namespace
}  // namespace sluice::engine
