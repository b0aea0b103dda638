#include "engine/cuda/kernels/add_experts.cuh"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

enum class Added { kNothing, kOther, kOut };

void expect_sums(int32_t width, int32_t per_token, Added added) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", " << per_token << " a token");
  constexpr int32_t kTokens = 3;
  Random random(7);
  const int32_t choices = kTokens * per_token;
  const auto rows = random.numbers<float>(int64_t{choices} * width, -3, 3);
  const auto weights = random.numbers<float>(choices, 0, 1);
  const auto before = random.numbers<float>(int64_t{kTokens} * width, -9, 9);
  std::vector<int32_t> rows_of(static_cast<size_t>(choices));
  for (int32_t i = 0; i < choices; ++i) rows_of[static_cast<size_t>(i)] = choices - 1 - i;
  const auto out = run_in_all_orders([&](void* stream) {
    GuardedBuffer<float> buffer(int64_t{kTokens} * width);
    if (added == Added::kOut) buffer.put(before);
    const float* const addends[] = {nullptr, before.data(), buffer.data()};
    EXPECT_EQ(launch_add_experts({.added = addends[static_cast<size_t>(added)],
                                  .rows = rows.data(),
                                  .rows_of = rows_of.data(),
                                  .weights = weights.data(),
                                  .out = buffer.data(),
                                  .tokens = kTokens,
                                  .per_token = per_token,
                                  .width = width},
                                 stream),
              0);
    return buffer.take();
  });
  for (int32_t token = 0; token < kTokens; ++token) {
    for (int32_t i = 0; i < width; ++i) {
      const int64_t at = int64_t{token} * width + i;
      double sum = added == Added::kNothing ? 0 : value_of(before, at);
      double magnitude = std::fabs(sum);
      for (int32_t rank = 0; rank < per_token; ++rank) {
        const int64_t choice = token * per_token + rank;
        const int64_t row = rows_of[static_cast<size_t>(choice)];
        const double part = value_of(weights, choice) * value_of(rows, row * width + i);
        sum += part;
        magnitude += std::fabs(part);
      }
      ASSERT_NEAR(value_of(out, at), sum, magnitude * kRounding<float>) << "token " << token << ", element " << i;
    }
  }
}

TEST(AddExpertsKernel, AddsWhatATokensExpertsGaveTimesTheirWeights) {
  for (const int32_t width : {1, 13, 64, 2051}) {
    for (const int32_t per_token : {1, 2, 8}) {
      for (const Added added : {Added::kNothing, Added::kOther, Added::kOut}) expect_sums(width, per_token, added);
    }
  }
}

// 1 + 2^-24 is 1 again, and 2^-24 + 2^-24 + 1 isn't: the order of choices shows.
TEST(AddExpertsKernel, AddsInTheOrderOfChoices) {
  const std::vector<float> rows = {1, 0x1p-24F, 0x1p-24F};
  const std::vector<float> weights(3, 1.0F);
  const auto sum_of = [&](const std::vector<int32_t>& rows_of) {
    GuardedBuffer<float> out(1);
    gpu::KernelStream stream;
    EXPECT_EQ(launch_add_experts({.added = nullptr,
                                  .rows = rows.data(),
                                  .rows_of = rows_of.data(),
                                  .weights = weights.data(),
                                  .out = out.data(),
                                  .tokens = 1,
                                  .per_token = 3,
                                  .width = 1},
                                 stream.get()),
              0);
    return out.take().front();
  };
  EXPECT_EQ(sum_of({0, 1, 2}), 1.0F);
  EXPECT_EQ(sum_of({1, 2, 0}), 1.0F + 0x1p-23F);
}

}  // namespace
}  // namespace sluice::engine::cuda
