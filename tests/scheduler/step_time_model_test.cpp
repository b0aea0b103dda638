#include "scheduler/step_time_model.h"

#include <random>

#include <gtest/gtest.h>

#include "scheduler/step_plan.h"

namespace sluice::scheduler {
namespace {

/// Seconds by which a machine without noise would be known: 4 ms, 20 us a prompt token, 100 us a row, 50 ns a key and
/// 1 ns a pair.
double true_seconds(const StepLoad& load) {
  return 4e-3 + 20e-6 * load.prefill_tokens + 100e-6 * load.decode_rows +
         50e-9 * static_cast<double>(load.context_tokens) + 1e-9 * static_cast<double>(load.prefill_pairs);
}

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

StepLoad draw_load(std::mt19937_64& random) {
  const auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  StepLoad load;
  load.prefill_tokens = draw(0, 1) * draw(1, 512);
  load.decode_rows = draw(0, 64);
  load.context_tokens = int64_t{load.decode_rows} * draw(10, 2000);
  load.prefill_pairs = int64_t{load.prefill_tokens} * draw(1, 2000);
  return load;
}

StepTimeModel taught(int steps) {
  StepTimeModel model;
  std::mt19937_64 random(1);
  for (int i = 0; i < steps; ++i) {
    const StepLoad load = draw_load(random);
    model.note(load, duration_of(true_seconds(load)));
  }
  return model;
}

TEST(StepTimeModel, KnowsNothingBeforeEightSteps) {
  const StepTimeModel seven = taught(StepTimeModel::kStepsMin - 1);
  EXPECT_FALSE(seven.is_known());
  EXPECT_EQ(seven.predict({.decode_rows = 1}), Duration::zero());
  EXPECT_TRUE(taught(StepTimeModel::kStepsMin).is_known());
}

TEST(StepTimeModel, FindsThePricesOfAMachineWithoutNoise) {
  const StepTimeModel model = taught(2000);
  for (const StepLoad& load :
       {StepLoad{}, StepLoad{.prefill_tokens = 512, .prefill_pairs = 512 * 256}, StepLoad{.decode_rows = 64},
        StepLoad{.decode_rows = 64, .context_tokens = 64'000},
        StepLoad{.prefill_tokens = 100, .prefill_pairs = 100'000},
        StepLoad{.prefill_tokens = 300, .decode_rows = 10, .context_tokens = 9000, .prefill_pairs = 45'000}}) {
    EXPECT_NEAR(to_milliseconds(model.predict(load)), 1e3 * true_seconds(load), 0.02 * 1e3 * true_seconds(load));
  }
  EXPECT_LT(model.relative_error(), 0.01);
}

TEST(StepTimeModel, NeverHoldsThatMoreWorkTakesLess) {
  StepTimeModel model;
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    const StepLoad load = draw_load(random);
    model.note(load, duration_of(0.05 - 50e-6 * load.prefill_tokens));  // nonsense: the more the faster
  }
  const Duration little = model.predict({.prefill_tokens = 1});
  EXPECT_GE(model.predict({.prefill_tokens = 512}), little);
  EXPECT_GE(model.predict({.prefill_tokens = 1, .decode_rows = 64}), little);
  EXPECT_GE(model.predict({.prefill_tokens = 1, .context_tokens = 100'000}), little);
}

TEST(StepTimeModel, SaysHowManyPromptTokensFitIntoATime) {
  const StepTimeModel model = taught(2000);
  const StepLoad base{.decode_rows = 10, .context_tokens = 10'000};
  constexpr int64_t kContext = 1000;  // keys a token looks at: a token costs 20 us + 1000 * 1 ns
  const int32_t fitting = model.prefill_tokens_within(std::chrono::milliseconds(10), base, kContext, 1000);
  const auto seconds_with = [&](int32_t tokens) {
    StepLoad load = base;
    load.prefill_tokens = tokens;
    load.prefill_pairs = tokens * kContext;
    return to_seconds(model.predict(load));
  };
  EXPECT_NEAR(fitting, (10e-3 - true_seconds(base)) / 21e-6, 8);
  EXPECT_LE(seconds_with(fitting), 10e-3);
  EXPECT_GT(seconds_with(fitting + 1), 10e-3);
}

TEST(StepTimeModel, AllowsNoneWhenTheRowsAloneTakeTooLongAndNeverMoreThanTheLimit) {
  const StepTimeModel model = taught(2000);
  EXPECT_EQ(model.prefill_tokens_within(std::chrono::milliseconds(3), {.decode_rows = 1}, 0, 1000), 0);
  EXPECT_EQ(model.prefill_tokens_within(std::chrono::seconds(3), {.decode_rows = 1}, 0, 1000), 1000);
  EXPECT_EQ(model.prefill_tokens_within(std::chrono::seconds(3), {.decode_rows = 1}, 0, 7), 7);
}

TEST(StepTimeModel, TrustsAtMostTwiceWhatAStepHasHad) {
  StepTimeModel model;
  EXPECT_EQ(model.prefill_tokens_within(std::chrono::seconds(3), {}, 0, 1000), 0);
  model.note({.prefill_tokens = 40, .prefill_pairs = 800}, std::chrono::milliseconds(5));
  EXPECT_EQ(model.prefill_tokens_within(std::chrono::seconds(3), {}, 0, 1000), 80);
  for (int i = 0; i < 20; ++i) model.note({.prefill_tokens = 50, .prefill_pairs = 800}, std::chrono::milliseconds(5));
  EXPECT_EQ(model.prefill_tokens_within(std::chrono::seconds(3), {}, 0, 1000), 100);
}

TEST(StepTimeModel, AFewShortPromptsDoNotMakeALongOneLookEndless) {
  StepTimeModel model;
  // As if their time came from their pairs: 1 ms for 3 pairs, 2 for 6, 4 for 15.
  for (int i = 0; i < 20; ++i) {
    model.note({.prefill_tokens = 2, .prefill_pairs = 3}, std::chrono::milliseconds(1));
    model.note({.prefill_tokens = 3, .prefill_pairs = 6}, std::chrono::milliseconds(2));
    model.note({.prefill_tokens = 5, .prefill_pairs = 15}, std::chrono::milliseconds(4));
  }
  const StepPrices prices = model.prices();
  EXPECT_LE(prices.prefill_pair_ms, prices.prefill_token_ms / 256 + 1e-12);
  EXPECT_TRUE(model.reaches(15 * 16));
  EXPECT_FALSE(model.reaches(15 * 16 + 1));
}

// A machine that slept in the middle of a step, or a debugger.
TEST(StepTimeModel, LearnsNoPriceAboveTheMostThereIs) {
  StepTimeModel model;
  for (int i = 0; i < 50; ++i) {
    model.note({.prefill_tokens = 1, .prefill_pairs = 1}, std::chrono::hours(10));
    model.note({.decode_rows = 1, .context_tokens = 1}, std::chrono::hours(1));
    const StepPrices prices = model.prices();
    for (const double price : {prices.fixed_ms, prices.prefill_token_ms, prices.decode_row_ms, prices.context_token_ms,
                               prices.prefill_pair_ms}) {
      EXPECT_GE(price, 0);
      EXPECT_LE(price, StepPrices::kMax);
    }
  }
  EXPECT_GT(model.prices().fixed_ms + model.prices().prefill_token_ms, 0.9 * StepPrices::kMax);
}

TEST(StepPrices, CallNoStepLongerThanADay) {
  const StepPrices prices{.prefill_pair_ms = StepPrices::kMax};
  EXPECT_EQ(prices.duration({.prefill_pairs = 863}), std::chrono::milliseconds(86'300'000));
  EXPECT_EQ(prices.duration({.prefill_pairs = 865}), std::chrono::hours(24));
  EXPECT_EQ(prices.duration({.prefill_pairs = int64_t{1} << 40}), std::chrono::hours(24));
}

TEST(StepTimeModel, ReachesNothingBeforeItKnowsAnything) {
  StepTimeModel model;
  EXPECT_FALSE(model.reaches(0));
}

TEST(StepTimeModel, FollowsAMachineThatGetsSlower) {
  StepTimeModel model = taught(1000);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1500; ++i) {
    const StepLoad load = draw_load(random);
    model.note(load, duration_of(2 * true_seconds(load)));
  }
  const StepLoad load{.decode_rows = 32, .context_tokens = 32'000};
  EXPECT_NEAR(to_milliseconds(model.predict(load)), 2e3 * true_seconds(load), 0.05 * 2e3 * true_seconds(load));
}

TEST(StepTimeModel, CountsThePlansWork) {
  StepPlan plan;
  plan.decode_rows = 3;
  plan.prefill_tokens = 5;
  plan.context_tokens = 7;
  plan.prefill_pairs = 11;
  const StepLoad load = load_of(plan);
  EXPECT_EQ(load.decode_rows, 3);
  EXPECT_EQ(load.prefill_tokens, 5);
  EXPECT_EQ(load.context_tokens, 7);
  EXPECT_EQ(load.prefill_pairs, 11);
}

}  // namespace
}  // namespace sluice::scheduler
