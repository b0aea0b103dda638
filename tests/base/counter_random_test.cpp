#include "base/counter_random.h"

#include <set>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(CounterRandom, IsAPureFunctionOfSeedAndCounter) {
  EXPECT_EQ(random_bits(7, 3), random_bits(7, 3));
  EXPECT_NE(random_bits(7, 3), random_bits(7, 4));
  EXPECT_NE(random_bits(7, 3), random_bits(8, 3));
}

TEST(CounterRandom, NeighbouringSeedsAndCountersDoNotMeet) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    for (uint64_t counter = 0; counter < 64; ++counter) seen.insert(random_bits(seed, counter));
  }
  EXPECT_EQ(seen.size(), 64U * 64U);
}

TEST(CounterRandom, UnitDrawsAreUniform) {
  double sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random_unit(42, static_cast<uint64_t>(i));
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);  // five standard errors
}

}  // namespace
}  // namespace sluice
