#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/sampler.h"

namespace sluice::engine {
namespace {

// The sampler against one that follows the definitions: it copies, sorts everything and computes in double.

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::vector<float> logits;
  SamplingParams params;
  std::vector<int32_t> prompt = {};
  std::vector<int32_t> output = {};
  uint64_t seed = 0;

  SampleRow row() const { return {.params = &params, .prompt = prompt, .output = output, .seed = seed, .position = 3}; }
};

std::vector<float> by_the_book_adjusted(const Case& given) {
  std::map<int32_t, int32_t> counts;
  for (const int32_t token : given.prompt) counts[token] += 0;
  for (const int32_t token : given.output) counts[token] += 1;
  std::vector<float> logits = given.logits;
  const auto clamp = [](float x) {
    return std::clamp(x, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
  };
  const SamplingParams& params = given.params;
  const bool is_penalised =
      params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F || params.frequency_penalty != 0.0F;
  for (const auto& [token, count] : counts) {
    if (!is_penalised) break;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0.0F ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (count > 0) logit -= params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
    logit = clamp(logit);
  }
  for (const LogitBias& bias : params.logit_bias) {
    float& logit = logits[static_cast<size_t>(bias.token)];
    logit = clamp(logit + bias.bias);
  }
  return logits;
}

struct Weighed {
  int32_t token = 0;
  float logit = 0;
  double weight = 0;
};

/// Numbers above -infinity, best first.
std::vector<Weighed> by_the_book_order(const std::vector<float>& logits) {
  std::vector<Weighed> order;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -kInfinity) order.push_back({static_cast<int32_t>(i), logits[i]});
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.logit > b.logit; });
  return order;
}

/// What is left to draw from, in the order of the draw.
std::vector<Weighed> by_the_book_kept(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<Weighed> order = by_the_book_order(logits);
  const bool is_top_k_on = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  if (is_top_k_on) order.resize(std::min(order.size(), static_cast<size_t>(params.top_k)));
  const auto max = static_cast<double>(order.front().logit);
  double sum = 0;
  for (Weighed& one : order) {
    one.weight = std::exp((static_cast<double>(one.logit) - max) / static_cast<double>(params.temperature));
    sum += one.weight;
  }
  double passed = 0;
  std::vector<Weighed> kept;
  for (const Weighed& one : order) {
    if (params.top_p < 1.0F && passed >= static_cast<double>(params.top_p) * sum) break;
    passed += one.weight;
    if (one.weight >= static_cast<double>(params.min_p)) kept.push_back(one);
  }
  if (!is_top_k_on) std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.token < b.token; });
  return kept;
}

/// Whether the book draws this token for the case's random number, give or take its rounding.
void expect_by_the_book(const Case& given, int32_t token) {
  const std::vector<float> logits = by_the_book_adjusted(given);
  const std::vector<Weighed> order = by_the_book_order(logits);
  const bool is_greedy = given.params.temperature < SamplingParams::kGreedyTemperature || given.params.top_k == 1;
  if (order.empty()) {
    const auto lowest = std::find(logits.begin(), logits.end(), -kInfinity);
    ASSERT_EQ(token, lowest == logits.end() ? 0 : lowest - logits.begin());
    return;
  }
  if (is_greedy || order.front().logit == kInfinity) {
    ASSERT_EQ(token, order.front().token);
    return;
  }
  const std::vector<Weighed> kept = by_the_book_kept(logits, given.params);
  double sum = 0;
  for (const Weighed& one : kept) sum += one.weight;
  double begin = 0;
  for (const Weighed& one : kept) {
    const double end = begin + one.weight / sum;
    if (one.token == token) {
      constexpr double kRounding = 1e-5;
      const double unit = random_unit(given.seed, 3);
      ASSERT_LE(begin - kRounding, unit);
      ASSERT_GE(end + kRounding, unit);
      return;
    }
    begin = end;
  }
  FAIL() << "token " << token << " should have been cut off";
}

void expect_logprobs_by_the_book(const Case& given, const SampledToken& sampled) {
  const std::vector<Weighed> order = by_the_book_order(given.logits);
  const auto listed = static_cast<size_t>(std::max(given.params.top_logprobs, 0));
  ASSERT_EQ(sampled.top.size(), std::min(listed, order.size()));
  for (size_t i = 0; i < sampled.top.size(); ++i) ASSERT_EQ(sampled.top[i].token, order[i].token) << "place " << i;
  if (given.params.top_logprobs < 0) {
    ASSERT_EQ(sampled.logprob, 0.0F);
    return;
  }
  const float own = given.logits[static_cast<size_t>(sampled.token)];
  if (order.empty() || order.front().logit == kInfinity || !std::isfinite(own)) return;
  double sum = 0;
  for (const Weighed& one : order)
    sum += std::exp(static_cast<double>(one.logit) - static_cast<double>(order[0].logit));
  const double log_total = static_cast<double>(order[0].logit) + std::log(sum);
  const auto expect_near = [&](float logprob, float logit) {
    const double expected = static_cast<double>(logit) - log_total;
    ASSERT_NEAR(logprob, expected, 1e-6 * (10 + std::abs(expected)));
  };
  expect_near(sampled.logprob, own);
  for (size_t i = 0; i < sampled.top.size(); ++i) expect_near(sampled.top[i].logprob, order[i].logit);
}

bool are_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); });
}

void expect_sampled_by_the_book(const Case& given, SamplerScratch& scratch) {
  std::vector<float> values = given.logits;
  std::vector<float> tops(logit_block_count(values.size()));
  fill_block_tops(values, tops);
  const std::vector<float> own_tops = tops;
  const SampledToken sampled = sample_token(LogitRow{values, tops}, given.row(), scratch);
  ASSERT_NO_FATAL_FAILURE(expect_by_the_book(given, sampled.token));
  ASSERT_NO_FATAL_FAILURE(expect_logprobs_by_the_book(given, sampled));
  ASSERT_TRUE(are_same_bits(values, given.logits)) << "the row is not as it was";
  ASSERT_EQ(tops, own_tops);
  SamplerScratch fresh;
  ASSERT_EQ(sample_token(LogitRow{values, tops}, given.row(), fresh).token, sampled.token) << "the scratch matters";
}

/// A source of choices, all from one seed.
class Choices {
 public:
  explicit Choices(uint64_t seed) : seed_(seed) {}
  uint64_t below(uint64_t count) { return random_bits(seed_, counter_++) % count; }
  float unit() { return static_cast<float>(random_unit(seed_, counter_++)); }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

enum class Shape { kBell, kTies, kFlat, kSharp, kStrange, kNothing };

float any_logit(Shape shape, Choices& choices) {
  switch (shape) {
    case Shape::kBell:
      return 4 * (choices.unit() + choices.unit() + choices.unit() + choices.unit() - 2);
    case Shape::kTies:
      return static_cast<float>(choices.below(7)) - 3.0F;
    case Shape::kFlat:
      return 1.5F;
    case Shape::kSharp:
      return choices.below(20) == 0 ? 15 + 2 * choices.unit() : -5 * choices.unit();
    case Shape::kStrange: {
      const float number = 4 * choices.unit() - 2;
      return choices.of({number, number, number, kNan, -kInfinity, 1e4F * number, 1e30F * number});
    }
    case Shape::kNothing:
      return choices.of({kNan, -kInfinity});
  }
  return 0;
}

std::vector<float> any_logits(size_t count, Choices& choices) {
  const Shape shape = choices.of(
      {Shape::kBell, Shape::kBell, Shape::kTies, Shape::kFlat, Shape::kSharp, Shape::kStrange, Shape::kNothing});
  std::vector<float> logits;
  for (size_t i = 0; i < count; ++i) logits.push_back(any_logit(shape, choices));
  if (shape == Shape::kStrange && choices.below(4) == 0) logits[choices.below(count)] = kInfinity;
  return logits;
}

Case any_case(uint64_t seed) {
  Choices choices(seed);
  const size_t vocab_size = 1 + choices.below(choices.of<uint64_t>({3, 20, 100, 700, 5000}));
  Case made{.logits = any_logits(vocab_size, choices), .params = {}, .seed = seed};
  SamplingParams& params = made.params;
  params.temperature = choices.of({0.0F, 0.05F, 0.3F, 1.0F, 1.0F, 0.1F + 2 * choices.unit(), 30.0F, 1e30F});
  params.top_k = choices.of({0, 0, 1, 2, static_cast<int32_t>(1 + choices.below(60)), 1000});
  params.top_p = choices.of({1.0F, 1.0F, 0.9F, 0.01F + 0.98F * choices.unit(), 1e-9F});
  params.min_p = choices.of({0.0F, 0.0F, 0.05F, choices.unit(), 1e-4F, 1.0F});
  params.repetition_penalty = choices.of({1.0F, 1.0F, 1.3F, 0.7F});
  params.presence_penalty = choices.of({0.0F, 0.0F, 0.5F, -0.5F});
  params.frequency_penalty = choices.of({0.0F, 0.0F, 0.25F, -0.25F});
  params.top_logprobs = choices.of({-1, 0, 5, 20});
  const auto token = [&] { return static_cast<int32_t>(choices.below(vocab_size)); };
  for (uint64_t i = choices.below(4); i > 0; --i) params.logit_bias.push_back({token(), 20 * choices.unit() - 10});
  for (uint64_t i = choices.below(30); i > 0; --i) made.prompt.push_back(token());
  for (uint64_t i = choices.below(30); i > 0; --i) made.output.push_back(token());
  return made;
}

TEST(SamplerReference, DrawsByTheBookWhateverTheLogitsAndOptions) {
  SamplerScratch scratch;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(expect_sampled_by_the_book(any_case(seed), scratch));
  }
}

TEST(SamplerReference, DrawsByTheBookFromAWholeVocabulary) {
  SamplerScratch scratch;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case given = any_case(seed);
    Choices choices(seed + 1);
    given.logits.clear();
    for (size_t i = 0; i < 49155; ++i) given.logits.push_back(any_logit(Shape::kBell, choices));
    ASSERT_NO_FATAL_FAILURE(expect_sampled_by_the_book(given, scratch));
  }
}

}  // namespace
}  // namespace sluice::engine
