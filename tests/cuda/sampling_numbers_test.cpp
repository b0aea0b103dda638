#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/kernels/mass_search.cuh"
#include "engine/softmax.h"
#include "tests/cuda/sampling_case.h"

namespace sluice::engine::cuda {
namespace {

// The sampling kernels' arithmetic, called as the host's own.

TEST(SamplingNumbers, WeighToTheBitAsTheCpuDoes) {
  for (float x = 0.0F; x > -90.0F; x -= 0.00173F)
    ASSERT_EQ(std::bit_cast<uint32_t>(cuda::exp_nonpositive(x)), std::bit_cast<uint32_t>(engine::exp_nonpositive(x)));
  for (const float x : {-87.0F, std::nextafter(-87.0F, -88.0F), -1e-30F, -0.0F, -kInfinity, kNan})
    ASSERT_EQ(std::bit_cast<uint32_t>(cuda::exp_nonpositive(x)), std::bit_cast<uint32_t>(engine::exp_nonpositive(x)));
}

TEST(SamplingNumbers, TakeLogarithmsAsTheLibraryDoes) {
  EXPECT_EQ(natural_log(0), -static_cast<double>(kInfinity));
  for (double x = 1e-9; x < 1e20; x *= 1.0037)
    ASSERT_NEAR(natural_log(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x))));
}

TEST(SamplingNumbers, CountEqualWeightsExactly) {
  for (const double weight : {1.0, 0x1.99999ap-4, 0x1p-100}) {
    for (int32_t count = 1; count < 50000; count += 7) {
      ASSERT_EQ(count_to_reach(count * weight, weight), count);
      ASSERT_EQ(count_to_reach(std::nextafter(count * weight, 1e9), weight), count + 1);
      ASSERT_EQ(index_to_pass(count * weight, weight), count);
      ASSERT_EQ(index_to_pass(std::nextafter(count * weight, 0.0), weight), count - 1);
    }
  }
}

TEST(SamplingNumbers, OrderKeysAsLogits) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<float> rising = {kNan, -kInfinity, -kMax, -1.0F, -1e-45F, 0.0F, 1e-45F, 1.0F, kMax, kInfinity};
  for (size_t i = 1; i < rising.size(); ++i) {
    EXPECT_LT(key_of(rising[i - 1]), key_of(rising[i]));
    EXPECT_EQ(logit_of(key_of(rising[i])), rising[i]);
  }
  EXPECT_EQ(key_of(-0.0F), key_of(0.0F));
  EXPECT_EQ(key_of(-kNan), key_of(kNan));
  EXPECT_EQ(key_of_floor(1.0), key_of(1.0F));
  EXPECT_EQ(key_of_floor(1.0 + 1e-12), key_of(std::nextafter(1.0F, 2.0F)));
  EXPECT_LE(key_of_floor(-1e-60), key_of(0.0F));
  EXPECT_GT(key_of_floor(-1e-60), key_of(-1e-45F));
  EXPECT_EQ(key_of_floor(-1e300), kLowestKey);
}

}  // namespace
}  // namespace sluice::engine::cuda
