#include "bench/admission/saturation.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

SaturationConfig config_of(const MachineKind& machine) {
  SaturationConfig config;
  config.prices = machine.prices;
  return config;
}

LoadMix mix_of(const std::string& beginning) {
  for (LoadMix& mix : load_mixes()) {
    if (mix.name.starts_with(beginning)) return std::move(mix);
  }
  ADD_FAILURE() << "no mix " << beginning;
  return {};
}

/// The mean of a few seeds.
SaturationFigures mean_over(uint64_t seeds, const LoadMix& mix, const std::string& policy) {
  SaturationConfig config = config_of(machine_kinds().front());
  std::vector<SaturationFigures> runs;
  for (config.seed = 1; config.seed <= seeds; ++config.seed) {
    runs.push_back(policy == "evicting" ? saturate_with_eviction(mix, config) : saturate(mix, config, policy));
  }
  return mean_of(runs);
}

/// A step in which as many prompt tokens are computed as may be, beside the rows that were there on average.
double full_step_ms(const SaturationConfig& config, double rows) {
  return config.prices.fixed_ms + config.prices.prefill_token_ms * config.tokens_per_step +
         config.prices.decode_row_ms * rows;
}

TEST(Saturation, AdaptiveServesTwiceAsMuchAsReserveAndAsMuchAsEvictionWhenAnswersEndFarBelowTheirCaps) {
  const LoadMix mix = mix_of("far below cap");
  const SaturationFigures adaptive = mean_over(4, mix, "adaptive");
  EXPECT_GE(adaptive.tokens_per_ms, 2 * mean_over(4, mix, "reserve").tokens_per_ms);
  EXPECT_GE(adaptive.tokens_per_ms, 0.98 * mean_over(4, mix, "evicting").tokens_per_ms);
}

TEST(Saturation, AdaptiveIsNeverWorseThanPlanAndPausesHardlyAnybody) {
  for (const MachineKind& machine : machine_kinds()) {
    const SaturationConfig config = config_of(machine);
    for (const LoadMix& mix : load_mixes()) {
      if (!mix.is_steady) continue;
      const SaturationFigures plan = saturate(mix, config, "plan");
      const SaturationFigures adaptive = saturate(mix, config, "adaptive");
      EXPECT_GE(adaptive.tokens_per_ms, 0.98 * plan.tokens_per_ms) << mix.name << ", " << machine.name;
      EXPECT_LE(adaptive.paused_share, 0.005) << mix.name << ", " << machine.name;
      // Who admits more computes more prompts at once, up to the whole budget of a step.
      const double gap_max_ms = std::max(1.5 * plan.gap_p99_ms, 1.05 * full_step_ms(config, adaptive.rows));
      EXPECT_LE(adaptive.gap_p99_ms, gap_max_ms) << mix.name << ", " << machine.name;
    }
  }
}

TEST(Saturation, PlanServesMoreThanReserveAndPausesHardlyAnybody) {
  const SaturationConfig config = config_of(machine_kinds().front());
  for (const LoadMix& mix : load_mixes()) {
    const SaturationFigures plan = saturate(mix, config, "plan");
    EXPECT_GE(plan.tokens_per_ms, saturate(mix, config, "reserve").tokens_per_ms) << mix.name;
    EXPECT_LE(plan.paused_share, 0.005) << mix.name;
  }
}

TEST(Saturation, StreamsDripInsteadOfFallingSilentWhenAnswersTurnOutLong) {
  const LoadMix mix = mix_of("shift");
  const SaturationFigures adaptive = mean_over(2, mix, "adaptive");
  EXPECT_LE(adaptive.gap_p99_ms, 300);
  EXPECT_GE(adaptive.tokens_per_ms, mean_over(2, mix, "plan").tokens_per_ms);
}

TEST(Saturation, NobodyIsPausedAnyMoreWhenAnswersAreShortAgain) {
  SaturationConfig config = config_of(machine_kinds().front());
  config.steps = 24'000;
  config.arrivals_left_out = 900 + 300;  // all of the change and 300 after it
  const SaturationFigures after = saturate(mix_of("shift"), config, "adaptive");
  EXPECT_GE(after.finished, 1000);
  EXPECT_LE(after.paused_share, 0.005);
}

TEST(Saturation, SharedPrefixesAreAsGoodAsShortPrompts) {
  const SaturationConfig config = config_of(machine_kinds().front());
  const LoadMix sharing = mix_of("shared prefix");
  LoadMix alone = sharing;
  alone.shares_prefixes = false;
  EXPECT_GE(saturate(sharing, config, "adaptive").tokens_per_ms,
            1.3 * saturate(alone, config, "adaptive").tokens_per_ms);
}

}  // namespace
}  // namespace sluice::bench
