#include "engine/logit_row.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> tops_of(const std::vector<float>& logits) {
  std::vector<float> tops(logit_block_count(logits.size()));
  fill_block_tops(logits, tops);
  return tops;
}

int32_t likeliest(const std::vector<float>& logits) {
  const std::vector<float> tops = tops_of(logits);
  return likeliest_token({logits, tops}, largest_of(tops));
}

TEST(LogitRow, TopsPassOverNan) {
  std::vector<float> logits(40, kNan);
  logits[3] = -2.0F;
  logits[39] = -kInfinity;
  EXPECT_THAT(tops_of(logits), ElementsAre(-2.0F, -kInfinity, -kInfinity));
  EXPECT_EQ(largest_of(std::vector<float>{kNan, -3.0F, kNan, -2.0F}), -2.0F);
  EXPECT_EQ(largest_of(std::vector<float>{kNan}), -kInfinity);
}

TEST(LogitRow, TheLargestIsFoundAtEveryPlace) {
  for (size_t size = 1; size < 70; ++size) {
    for (size_t place = 0; place < size; ++place) {
      std::vector<float> logits(size, -5.0F);
      logits[place] = -4.0F;
      ASSERT_EQ(largest_of(logits), -4.0F) << place << " of " << size;
      ASSERT_EQ(tops_of(logits)[place / kLogitBlock], -4.0F) << place << " of " << size;
      ASSERT_EQ(likeliest(logits), static_cast<int32_t>(place)) << "of " << size;
    }
  }
}

TEST(LogitRow, TheFirstOfEqualTokensIsTheLikeliest) {
  std::vector<float> logits(100, 1.0F);
  EXPECT_EQ(likeliest(logits), 0);
  logits[37] = logits[41] = logits[90] = 2.0F;
  EXPECT_EQ(likeliest(logits), 37);
}

TEST(LogitRow, WithoutAnyNumberTheLikeliestIsTheFirst) {
  std::vector<float> logits(50, kNan);
  EXPECT_EQ(likeliest(logits), 0);
  logits[35] = -kInfinity;  // in a later block than those of NaNs alone, whose tops are equal
  EXPECT_EQ(likeliest(logits), 35);
}

TEST(LogitRow, AChangedLogitKeepsTheTopsTrue) {
  std::vector<float> logits(53);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(random_bits(1, i) % 9);
  std::vector<float> tops = tops_of(logits);
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto token = static_cast<int32_t>(random_bits(2, i) % logits.size());
    const uint64_t kind = random_bits(3, i) % 20;
    const float logit = kind == 0 ? kNan : kind == 1 ? -kInfinity : kind == 2 ? kInfinity : static_cast<float>(kind);
    set_logit({logits, tops}, token, logit);
    ASSERT_EQ(tops, tops_of(logits)) << "change " << i;
  }
}

}  // namespace
}  // namespace sluice::engine
