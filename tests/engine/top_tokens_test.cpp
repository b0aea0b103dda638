#include "engine/top_tokens.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::engine {
namespace {

std::vector<TokenLogprob> sorted(const std::vector<float>& logits) {
  std::vector<TokenLogprob> all;
  for (size_t i = 0; i < logits.size(); ++i) all.push_back({static_cast<int32_t>(i), logits[i]});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.logprob > b.logprob; });
  return all;
}

std::vector<int32_t> tokens_of(std::span<const TokenLogprob> list) {
  std::vector<int32_t> tokens;
  for (const TokenLogprob& entry : list) tokens.push_back(entry.token);
  return tokens;
}

/// Logits on a coarse grid, so that many are equal.
std::vector<float> tied_logits(size_t count, uint64_t seed) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) logits[i] = static_cast<float>(random_bits(seed, i) % 17) * 0.25F - 2.0F;
  return logits;
}

TEST(SelectTop, LeavesOutWhatIsNoNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<TokenLogprob> top;
  select_top(std::vector<float>{nan, -kInfinity, 1.0F, nan, 2.0F}, 5, top);
  EXPECT_EQ(tokens_of(top), (std::vector<int32_t>{4, 2}));
}

TEST(SelectTop, GivesAllWhenThereAreFewer) {
  std::vector<TokenLogprob> top = {{7, 7.0F}};
  select_top(std::vector<float>{1.0F, 3.0F, 2.0F}, 20, top);
  EXPECT_EQ(tokens_of(top), (std::vector<int32_t>{1, 2, 0}));
  select_top(std::vector<float>{1.0F}, 0, top);
  EXPECT_TRUE(top.empty());
}

TEST(SelectTop, EqualsAFullSortWithTies) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> logits = tied_logits(1 + random_bits(seed, 1) % 2000, seed + 1000);
    const std::vector<int32_t> expected = tokens_of(sorted(logits));
    for (const size_t count : {size_t{1}, size_t{2}, size_t{20}, size_t{100}, logits.size() / 2, logits.size()}) {
      std::vector<TokenLogprob> top;
      select_top(logits, count, top);
      const size_t kept = std::min(count, logits.size());
      ASSERT_EQ(tokens_of(top), std::vector<int32_t>(expected.begin(), expected.begin() + static_cast<long>(kept)))
          << "seed " << seed << " count " << count;
    }
  }
}

}  // namespace
}  // namespace sluice::engine
