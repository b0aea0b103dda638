#include "scheduler/step_stats.h"

#include <array>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;

TEST(StepHistogram, CountsByUpperBoundInclusive) {
  static constexpr std::array kBounds{1.0, 2.0};
  StepHistogram histogram(kBounds);
  for (const double value : {0.0, 1.0, 1.5, 2.0, 2.5}) histogram.observe(value);
  EXPECT_EQ(histogram.counts(), (std::vector<uint64_t>{2, 2, 1}));
  EXPECT_EQ(histogram.sum(), 7);
}

TEST(StepHistogram, IsReadWhileItIsFilled) {
  static constexpr std::array kBounds{1.0};
  StepHistogram histogram(kBounds);
  std::thread writer([&] {
    for (int i = 0; i < 10000; ++i) histogram.observe(i % 3);
  });
  uint64_t last = 0;
  while (last < 10000) {
    const std::vector<uint64_t> counts = histogram.counts();
    const uint64_t count = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    EXPECT_GE(count, last);
    last = count;
  }
  writer.join();
}

TEST(StepStats, AStepIsDecodePrefillOrBoth) {
  StepStats stats;
  StepPlan plan;
  plan.decode_rows = 4;
  stats.note(plan, 4, {}, milliseconds(5), {});
  plan.prefill_tokens = 100;
  stats.note(plan, 4, {}, milliseconds(20), milliseconds(10));
  plan.decode_rows = 0;
  stats.note(plan, 1, {}, milliseconds(15), {});
  EXPECT_NEAR(stats.decode_seconds.sum(), 0.005, 1e-12);
  EXPECT_NEAR(stats.mixed_seconds.sum(), 0.020, 1e-12);
  EXPECT_NEAR(stats.prefill_seconds.sum(), 0.015, 1e-12);
  EXPECT_EQ(stats.decode_rows.sum(), 8);
  EXPECT_EQ(stats.prefill_tokens.sum(), 200);
  EXPECT_EQ(stats.tokens.sum(), 208);
  EXPECT_NEAR(stats.predicted_ratio.sum(), 0.5, 1e-12);
}

TEST(StepStats, CountWhatAStepCannotDoWithout) {
  const engine::StepCosts costs{.layer_bytes = 1000,
                                .head_bytes = 100,
                                .context_token_bytes = 10,
                                .token_macs = 50,
                                .sample_macs = 7,
                                .pair_macs = 2};
  StepStats stats;
  StepPlan plan;
  plan.decode_rows = 2;
  plan.context_tokens = 30;
  stats.note(plan, 2, costs, milliseconds(1), {});
  EXPECT_EQ(stats.bytes, 1000 + 100 + 300);
  EXPECT_EQ(stats.macs, 2 * 50 + 2 * 7 + 30 * 2);
  EXPECT_NEAR(stats.last_bytes_per_second, 1.4e6, 1);
  // A chunk of a prompt that draws nothing leaves the head alone.
  StepPlan chunk;
  chunk.prefill_tokens = 16;
  chunk.prefill_pairs = 136;
  stats.note(chunk, 0, costs, milliseconds(1), {});
  EXPECT_EQ(stats.bytes, 1400 + 1000);
  EXPECT_EQ(stats.macs, 174 + 16 * 50 + 136 * 2);
}

}  // namespace
}  // namespace sluice::scheduler
