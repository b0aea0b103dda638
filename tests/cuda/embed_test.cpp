#include "engine/cuda/kernels/embed.cuh"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

constexpr int32_t kVocabulary = 7;

template <typename Stored, typename Out>
void expect_rows_of_table(int32_t width, int64_t shift) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", shift " << shift);
  Random random(11);
  const auto table = random.numbers<Stored>(kVocabulary * width, -3, 3);
  const std::vector<int32_t> token_ids = {6, 0, 3, 3, 5};
  const auto tokens = static_cast<int32_t>(token_ids.size());
  constexpr float kScale = 1.7F;
  const auto out = run_in_all_orders([&](void* stream) {
    GuardedBuffer<Out> buffer(int64_t{tokens} * width, shift);
    const EmbedArgs<Stored, Out> args{.table = table.data(),
                                      .token_ids = token_ids.data(),
                                      .out = buffer.data(),
                                      .tokens = tokens,
                                      .width = width,
                                      .scale = kScale};
    EXPECT_EQ(launch_embed(args, stream), 0);
    return buffer.take();
  });
  for (int32_t t = 0; t < tokens; ++t) {
    for (int32_t i = 0; i < width; ++i) {
      const double expected = double{kScale} * value_of(table, int64_t{token_ids[static_cast<size_t>(t)]} * width + i);
      ASSERT_NEAR(value_of(out, int64_t{t} * width + i), expected, std::fabs(expected) * kRounding<Out>)
          << "token " << t << ", element " << i;
    }
  }
}

TEST(EmbedKernel, CopiesScaledRowsOfAnyWidth) {
  for (const int32_t width : {1, 7, 8, 64, 75, 576, 4103}) {
    for (const int64_t shift : {0, 1}) {
      expect_rows_of_table<gpu::Bf16, gpu::Bf16>(width, shift);
      expect_rows_of_table<gpu::Bf16, float>(width, shift);
      expect_rows_of_table<gpu::Half, float>(width, shift);
      expect_rows_of_table<float, gpu::Bf16>(width, shift);
    }
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
