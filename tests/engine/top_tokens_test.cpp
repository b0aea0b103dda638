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

std::vector<TokenLogprob> top_of(const std::vector<float>& logits, size_t count) {
  std::vector<float> block_tops(logit_block_count(logits.size()));
  fill_block_tops(logits, block_tops);
  TopTokensScratch scratch;
  std::vector<TokenLogprob> top = {{7, 7.0F}};
  select_top({logits, block_tops}, count, portable_logit_kernels(), scratch, top);
  return top;
}

TEST(SelectTop, LeavesOutWhatIsNoNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(tokens_of(top_of({nan, -kInfinity, 1.0F, nan, 2.0F}, 5)), (std::vector<int32_t>{4, 2}));
  std::vector<float> mostly_nan(500, nan);
  mostly_nan[444] = 1.0F;
  EXPECT_EQ(tokens_of(top_of(mostly_nan, 3)), std::vector<int32_t>{444});
}

TEST(SelectTop, GivesAllWhenThereAreFewer) {
  EXPECT_EQ(tokens_of(top_of({1.0F, 3.0F, 2.0F}, 20)), (std::vector<int32_t>{1, 2, 0}));
  EXPECT_TRUE(top_of({1.0F}, 0).empty());
}

TEST(SelectTop, EqualsAFullSortWithTies) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> logits = tied_logits(1 + random_bits(seed, 1) % 2000, seed + 1000);
    const std::vector<int32_t> expected = tokens_of(sorted(logits));
    for (const size_t count :
         {size_t{1}, size_t{2}, size_t{20}, size_t{100}, logits.size() / 16, logits.size() / 2, logits.size()}) {
      const std::vector<TokenLogprob> top = top_of(logits, count);
      const size_t kept = std::min(count, logits.size());
      ASSERT_EQ(tokens_of(top), std::vector<int32_t>(expected.begin(), expected.begin() + static_cast<long>(kept)))
          << "seed " << seed << " count " << count;
    }
  }
}

}  // namespace
}  // namespace sluice::engine
