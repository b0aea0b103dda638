#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/logit_kernels.h"

namespace sluice::engine {

// What engine/logit_kernels.h asks of every set of kernels, for the tests of each.

/// Logits at and below `max`, the largest in a random place, each `nan_every`-th not a number.
inline std::vector<float> logits_below(float max, float spread, size_t count, uint64_t seed, size_t nan_every = 0) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    logits[i] = max - spread * static_cast<float>(random_unit(seed, i));
    if (nan_every > 0 && i % nan_every == 0) logits[i] = std::numeric_limits<float>::quiet_NaN();
  }
  if (count > 0) logits[random_bits(seed, count) % count] = max;
  return logits;
}

inline void expect_weigh_keeps_its_contract(const LogitKernels& kernels) {
  constexpr float kGuard = 77.0F;
  for (int32_t count = 0; count <= kLogitChunk; ++count) {
    const LogitScale scale{.max = 3.0F + static_cast<float>(count),
                           .temperature = 0.25F + 0.01F * static_cast<float>(count)};
    const std::vector<float> logits = logits_below(scale.max, 95.0F * scale.temperature, static_cast<size_t>(count),
                                                   static_cast<uint64_t>(count), count % 3 == 0 ? 7 : 0);
    std::vector<float> weights(logits.size() + 1, kGuard);
    const double sum = kernels.weigh(logits.data(), count, scale, weights.data());
    double expected_sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const float x = (logits[i] - scale.max) * (1.0F / scale.temperature);
      const double expected = x >= -87.0F ? std::exp(static_cast<double>(x)) : 0.0;
      ASSERT_NEAR(weights[i], expected, 3e-7 * expected) << "logit " << logits[i] << ", x " << x;
      ASSERT_TRUE(x != 0.0F || weights[i] == 1.0F) << "at the maximum: " << weights[i];
      expected_sum += expected;
    }
    ASSERT_NEAR(sum, expected_sum, 2e-6 * expected_sum) << count;
    ASSERT_EQ(weights.back(), kGuard) << "wrote beyond " << count;
  }
}

inline void expect_weigh_gives_zero_where_there_is_no_weight(const LogitKernels& kernels) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {nan, -kInfinity, -1e30F, std::nextafter(-87.0F, -88.0F),
                                     -std::numeric_limits<float>::max()};
  std::vector<float> weights(logits.size(), 5.0F);
  EXPECT_EQ(kernels.weigh(logits.data(), static_cast<int32_t>(logits.size()), {}, weights.data()), 0.0);
  for (const float weight : weights) EXPECT_EQ(weight, 0.0F);
}

inline void expect_collect_keeps_its_contract(const LogitKernels& kernels) {
  std::vector<size_t> sizes = {1, 15, 16, 17, 255, 256, 257, 300, 1000, 4099};
  for (size_t size = 2; size < 70; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    std::vector<float> logits = logits_below(4.0F, 8.0F, size, size, size % 2 == 0 ? 5 : 0);
    if (size > 3) logits[size / 3] = -std::numeric_limits<float>::infinity();
    if (size > 4) logits[size / 4] = std::numeric_limits<float>::infinity();
    std::vector<float> tops(logit_block_count(size));
    fill_block_tops(logits, tops);
    for (const float floor : {std::numeric_limits<float>::lowest(), -2.0F, 3.9F, logits[size / 2], 1e30F,
                              std::numeric_limits<float>::infinity()}) {
      if (!(floor > -std::numeric_limits<float>::infinity())) continue;
      const size_t room = tops.size() * kLogitBlock;
      std::vector<int32_t> tokens(room + 1, -7);
      std::vector<float> values(room + 1, -7.0F);
      const int32_t count = kernels.collect({logits, tops}, floor, tokens.data(), values.data());
      std::vector<int32_t> expected;
      for (size_t i = 0; i < size; ++i) {
        if (logits[i] >= floor) expected.push_back(static_cast<int32_t>(i));
      }
      ASSERT_EQ(std::vector<int32_t>(tokens.begin(), tokens.begin() + count), expected) << size << ", floor " << floor;
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(values[i], logits[static_cast<size_t>(expected[i])]);
      ASSERT_EQ(tokens.back(), -7) << "wrote beyond the room, size " << size;
      ASSERT_EQ(values.back(), -7.0F) << "wrote beyond the room, size " << size;
    }
  }
}

}  // namespace sluice::engine
