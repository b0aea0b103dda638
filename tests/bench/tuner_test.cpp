#include "bench/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::bench {
namespace {

/// A daemon that exists as arithmetic: a step costs fixed + row + prompt token, a closed loop keeps max_running
/// requests in it, and requests scatter about the means that follow. Time is simulated.
struct Surface {
  double fixed_ms = 2;
  double row_ms = 0.9;
  double prompt_token_ms = 0.24;
  double prompt_tokens = 64;
  double output_tokens = 32;
  double slo_ttft_ms = 1000;
  double slo_tpot_ms = 40;
  double kv_rows = 1e9;  ///< rows beyond do not run, whatever max_running says
  double noise = 0.04;   ///< of a batch
  double drift = 0.05;   ///< amplitude of a slow swing of the whole machine
  double drift_period_s = 90;

  struct Means {
    double requests_per_s = 0;
    double good_share = 0;
    double latency_s = 0;
  };

  Means at(const LimitSetting& setting) const {
    const double rows = std::min<double>(setting.max_running, kv_rows);
    const double queued = setting.max_running - rows;
    // Prompt tokens a step may take, by either bound; the floor is a block.
    double chunk = setting.tokens_per_step - rows;
    if (setting.tpot_target_ms > 0) {
      chunk = std::min(chunk, (setting.tpot_target_ms - fixed_ms - row_ms * rows) / prompt_token_ms);
    }
    chunk = std::max(chunk, 16.0);
    // In balance a step takes this many prompt tokens; when it may not, requests wait for their prompt instead.
    double decoding = rows;
    double prompts = rows * prompt_tokens / output_tokens;
    if (prompts > chunk) {
      prompts = chunk;
      decoding = chunk * output_tokens / prompt_tokens;
    }
    const double step_ms = fixed_ms + row_ms * decoding + prompt_token_ms * prompts;
    Means means;
    means.requests_per_s = 1000 * decoding / output_tokens / step_ms;
    const double waiting_s = (rows - decoding + queued) / means.requests_per_s;
    const double ttft_ms = 1000 * waiting_s + step_ms * (1 + prompt_tokens / chunk);
    means.good_share = share_below(slo_tpot_ms, step_ms, 0.06) * share_below(slo_ttft_ms, ttft_ms, 0.3);
    means.latency_s = setting.max_running / means.requests_per_s;
    return means;
  }

  double goodput(const LimitSetting& setting) const { return at(setting).requests_per_s * at(setting).good_share; }

  /// Of values that scatter about `mean` by a share, as a logistic curve.
  static double share_below(double bound, double mean, double scatter) {
    return 1 / (1 + std::exp(-(bound - mean) / (0.55 * scatter * mean)));
  }
};

class SimulatedDaemon {
 public:
  SimulatedDaemon(const Surface& surface, uint64_t seed) : surface_(surface), seed_(seed) {}

  const Clock& clock() const { return clock_; }
  int trials() const { return trials_; }

  Result<Trial> run(const LimitSetting& setting, const TrialLength& length) {
    ++trials_;
    const TimePoint deadline = clock_.now() + length.time_max;
    const Surface::Means means = surface_.at(setting);
    Trial trial;
    trial.settle_s = means.latency_s;
    if (!pass(trial.settle_s, deadline)) return trial;
    while (true) {
      const auto size = static_cast<int64_t>(setting.max_running * std::ceil(8.0 / setting.max_running));
      const double speed = (1 + surface_.noise * normal()) * swing();
      TrialBatch batch{.ended = size, .good = 0, .good_tokens = 0, .seconds = 0};
      batch.seconds = static_cast<double>(size) / (means.requests_per_s * std::max(0.2, speed));
      for (int64_t i = 0; i < size; ++i) batch.good += unit() < means.good_share ? 1 : 0;
      if (!pass(batch.seconds, deadline)) return trial;
      trial.measured_s += batch.seconds;
      trial.batches.push_back(batch);
      if (length.is_decided(trial.batches)) return trial;
    }
  }

  RunTrial runner() {
    return [this](const LimitSetting& setting, const TrialLength& length) { return run(setting, length); };
  }

 private:
  bool pass(double seconds, TimePoint deadline) {
    const Duration wanted = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
    const Duration left = deadline - clock_.now();
    clock_.advance(std::min(wanted, left));
    return wanted <= left;
  }
  double unit() { return random_unit(seed_, draws_++); }
  double normal() { return std::sqrt(-2 * std::log(1 - unit())) * std::cos(6.28318530717959 * unit()); }
  double swing() {
    const double seconds = to_seconds(clock_.now() - TimePoint{});
    return 1 +
           surface_.drift * std::sin(6.28318530717959 * (seconds / surface_.drift_period_s + random_unit(seed_, 0)));
  }

  const Surface surface_;
  const uint64_t seed_;
  uint64_t draws_ = 1;
  ManualClock clock_;
  int trials_ = 0;
};

const std::vector<int32_t> kTokens{64, 128, 256, 512};

std::vector<double> targets_for(double tpot_ms) {
  return {0, tpot_ms, 0.85 * tpot_ms, 0.7 * tpot_ms};
}

TunerConfig config_for(const Surface& surface) {
  TunerConfig config;
  config.max_running_max = 64;
  config.tokens_per_step = kTokens;
  config.tpot_target_ms = targets_for(surface.slo_tpot_ms);
  config.starts = {{.max_running = 1, .tokens_per_step = 512, .tpot_target_ms = 0},
                   {.max_running = 1, .tokens_per_step = 512, .tpot_target_ms = surface.slo_tpot_ms}};
  return config;
}

TuneOutcome tune_once(const TunerConfig& config, SimulatedDaemon& daemon) {
  return tune(config, daemon.runner(), daemon.clock(), [](const LimitSetting&, const std::string&) {});
}

struct Grid {
  double best = 0;     ///< true goodput
  double seconds = 0;  ///< that measuring all of it takes, five batches each
};

Grid exhaustive(const Surface& surface, const TunerConfig& config) {
  Grid grid;
  for (const int32_t running : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64}) {
    for (const int32_t tokens : config.tokens_per_step) {
      if (tokens < running) continue;
      for (const double target : config.tpot_target_ms) {
        const LimitSetting setting{.max_running = running, .tokens_per_step = tokens, .tpot_target_ms = target};
        const Surface::Means means = surface.at(setting);
        grid.best = std::max(grid.best, surface.goodput(setting));
        const double batch = running * std::ceil(8.0 / running) / means.requests_per_s;
        grid.seconds += means.latency_s + 5 * batch;
      }
    }
  }
  return grid;
}

struct Score {
  int good_enough = 0;
  double least_share = std::numeric_limits<double>::infinity();
  double most_time = 0;
};

Score score(const Surface& surface, uint64_t seeds) {
  TunerConfig config = config_for(surface);
  const Grid grid = exhaustive(surface, config);
  config.budget =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(240.0, grid.seconds / 4)));
  Score score;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SimulatedDaemon daemon(surface, seed);
    const TuneOutcome outcome = tune_once(config, daemon);
    const double share = outcome.best ? surface.goodput(*outcome.best) / grid.best : 0;
    score.good_enough += share >= 0.95 ? 1 : 0;
    score.least_share = std::min(score.least_share, share);
    score.most_time = std::max(score.most_time, outcome.elapsed_s / grid.seconds);
  }
  return score;
}

struct NamedSurface {
  const char* name;
  Surface surface;
  int good_enough_of_100 = 95;
};

class TunerOnSurface : public testing::TestWithParam<NamedSurface> {};

TEST_P(TunerOnSurface, FindsNearlyTheBestInAQuarterOfTheGridsTime) {
  constexpr uint64_t kSeeds = 100;
  const Score result = score(GetParam().surface, kSeeds);
  EXPECT_GE(result.good_enough, GetParam().good_enough_of_100) << "least share " << result.least_share;
  EXPECT_GE(result.least_share, 0.9);
  EXPECT_LE(result.most_time, 0.25);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TunerOnSurface,
                         testing::Values(NamedSurface{"cpu", {}},
                                         NamedSurface{"tight", {.slo_ttft_ms = 300, .slo_tpot_ms = 15}},
                                         NamedSurface{"loose", {.slo_ttft_ms = 5000, .slo_tpot_ms = 200}},
                                         NamedSurface{"gpu", {.fixed_ms = 4, .row_ms = 0.03, .prompt_token_ms = 0.023}},
                                         NamedSurface{"little_cache", {.kv_rows = 12}},
                                         NamedSurface{"noisy", {.noise = 0.08, .drift = 0.08}, 85}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Tuner, AgreesWithItselfWithinATenth) {
  const Surface surface;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (uint64_t seed = 100; seed < 150; ++seed) {
    SimulatedDaemon daemon(surface, seed);
    const TuneOutcome outcome = tune_once(config_for(surface), daemon);
    ASSERT_TRUE(outcome.best);
    least = std::min(least, surface.goodput(*outcome.best));
    most = std::max(most, surface.goodput(*outcome.best));
  }
  EXPECT_GE(least, 0.9 * most);
}

TEST(Tuner, NeverTakesLongerThanItsBudget) {
  for (const int seconds : {1, 5, 20, 60, 240}) {
    SimulatedDaemon daemon({}, 7);
    TunerConfig config = config_for({});
    config.budget = std::chrono::seconds(seconds);
    config.last_word = std::chrono::milliseconds(500);
    const TuneOutcome outcome = tune_once(config, daemon);
    EXPECT_LE(outcome.elapsed_s, seconds - 0.5 + 1e-6);
  }
}

TEST(Tuner, GivesNoVerdictWhenTheBudgetIsTooSmall) {
  SimulatedDaemon daemon({}, 7);
  TunerConfig config = config_for({});
  config.budget = std::chrono::seconds(12);
  const TuneOutcome outcome = tune_once(config, daemon);
  EXPECT_EQ(outcome.verdict, TuneVerdict::kTooLittleTime);
}

TEST(Tuner, SaysSoWhenNothingIsWithinTheObjective) {
  Surface surface{.slo_ttft_ms = 1, .slo_tpot_ms = 0.5};
  SimulatedDaemon daemon(surface, 7);
  const TuneOutcome outcome = tune_once(config_for(surface), daemon);
  EXPECT_EQ(outcome.verdict, TuneVerdict::kNothingGood);
  EXPECT_FALSE(outcome.best);
}

TEST(Tuner, TakesTheSmallerBatchOfEquals) {
  // Past 12 rows the cache is full: more changes nothing but the queue, and this objective bears the queue.
  const Surface surface{.slo_ttft_ms = 60'000, .slo_tpot_ms = 200, .kv_rows = 12, .noise = 0.015, .drift = 0};
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SimulatedDaemon daemon(surface, seed);
    const TuneOutcome outcome = tune_once(config_for(surface), daemon);
    ASSERT_TRUE(outcome.best);
    EXPECT_LE(outcome.best->max_running, 24);
    EXPECT_NE(outcome.verdict, TuneVerdict::kNothingGood);
  }
}

TEST(Tuner, SeesThatTheMachineDrifts) {
  Surface still{.noise = 0.02, .drift = 0};
  Surface swaying{.noise = 0.02, .drift = 0.25, .drift_period_s = 60};
  SimulatedDaemon quiet(still, 3);
  SimulatedDaemon unquiet(swaying, 3);
  EXPECT_LT(tune_once(config_for(still), quiet).drift, 0.05);
  EXPECT_GT(tune_once(config_for(swaying), unquiet).drift, 0.08);
}

TEST(Tuner, EndsWithTheFailureOfATrial) {
  SimulatedDaemon daemon({}, 7);
  int left = 4;
  const RunTrial run = [&](const LimitSetting& setting, const TrialLength& length) -> Result<Trial> {
    if (left-- == 0) return unavailable("the daemon went away");
    return daemon.run(setting, length);
  };
  const TuneOutcome outcome = tune(config_for({}), run, daemon.clock(), [](const LimitSetting&, const std::string&) {});
  EXPECT_EQ(outcome.failure.message(), "the daemon went away");
  EXPECT_EQ(outcome.verdict, TuneVerdict::kTooLittleTime);
  EXPECT_EQ(outcome.order.size(), 4U);
}

TEST(Tuner, GivesUpHopelessTrialsEarly) {
  SimulatedDaemon daemon({.slo_tpot_ms = 10}, 7);
  const TuneOutcome outcome = tune_once(config_for({.slo_tpot_ms = 10}), daemon);
  for (const TunedArm& arm : outcome.arms) {
    if (arm.goodput.mean > 0) continue;
    for (const Trial& trial : arm.trials) EXPECT_LE(trial.batches.size(), 3U) << describe(arm.setting);
  }
}

TEST(Tuner, TriesNoMoreRowsThanTokens) {
  SimulatedDaemon daemon({}, 7);
  TunerConfig config = config_for({});
  config.tokens_per_step = {16, 32, 64};
  for (LimitSetting& start : config.starts) start.tokens_per_step = 64;
  for (const TunedArm& arm : tune_once(config, daemon).arms) {
    EXPECT_LE(arm.setting.max_running, arm.setting.tokens_per_step);
    EXPECT_LE(arm.setting.max_running, 64);
  }
}

TEST(GoodputOfBatches, IsKnownNoBetterThanByHalfARequest) {
  const std::vector<TrialBatch> none(3, TrialBatch{.ended = 10, .good = 0, .good_tokens = 0, .seconds = 1});
  EXPECT_EQ(goodput_of(none).mean, 0);
  EXPECT_GT(interval_of(goodput_of(none)).high, 0.5);
  EXPECT_EQ(goodput_of({}).freedom, 0);
}

TEST(GoodputOfBatches, IsTheRatioOfTheSums) {
  const std::vector<TrialBatch> batches{{.ended = 10, .good = 10, .good_tokens = 0, .seconds = 1},
                                        {.ended = 10, .good = 10, .good_tokens = 0, .seconds = 3}};
  EXPECT_DOUBLE_EQ(goodput_of(batches).mean, 5);
}

}  // namespace
}  // namespace sluice::bench
