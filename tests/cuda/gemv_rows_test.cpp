#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"
#include "tests/cuda/largest_difference.h"
#include "tests/engine/sequence_runner.h"

// Steps of few rows by the kernel for few rows, of a model with biases and a tied head.

namespace sluice::engine {
namespace {

constexpr int32_t kRowsMax = 4;

class GemvRows : public testing::Test {
 protected:
  /// The log-probabilities of what `count` sequences draw together; the first is the same in each case.
  std::vector<float> draw(int32_t gemv_rows_max, int32_t count) {
    cuda::HostDevice device(int64_t{256} << 20);
    const ExecutorShape shape{.block_count = 64, .tokens_max = 40, .kv_type = KvType::kBf16};
    const auto executor = make_executor(SLUICE_SOURCE_DIR "/tests/data/tiny/qwen2", shape,
                                        make_cuda_backend(device, {.gemv_rows_max = gemv_rows_max}))
                              .value();
    SequenceRunner runner(*executor, shape);
    std::vector<TestSequence> sequences;
    for (int32_t i = 0; i < count; ++i) sequences.push_back({.tokens = {20 + i, 31, 42 + i, 53, 64, 75, 86, 97, 108}});
    // Prompts are long enough for the device's products; what is looked at are the rows that decode.
    for (TestSequence& sequence : sequences) {
      runner.add_slice(sequence, sequence.uncached());
      runner.step();
    }
    for (int32_t step = 0; step < 2; ++step) {
      for (TestSequence& sequence : sequences) runner.add_slice(sequence, 1);
      runner.step();
    }
    std::vector<float> drawn;
    for (size_t i = 1; i < sequences.front().samples.size(); ++i) {  // the first is drawn by the step of the prompt
      for (const auto& top : sequences.front().samples[i].top) drawn.push_back(top.logprob);
    }
    return drawn;
  }
};

TEST_F(GemvRows, GiveWhatTheDevicesProductsDoButForTheOrderOfSums) {
  const std::vector<float> device = draw(0, 1);
  const std::vector<float> kernel = draw(kRowsMax, 1);
  EXPECT_NE(kernel, device);
  // Rounding sums otherwise may round a few of what goes into the next product to the other neighbour in bf16.
  EXPECT_LE(largest_difference(kernel, device), 0.02F);
}

TEST_F(GemvRows, GiveARowTheSameInEveryStepOfFewRows) {
  const std::vector<float> alone = draw(kRowsMax, 1);
  EXPECT_EQ(draw(kRowsMax, 2), alone);
  EXPECT_EQ(draw(kRowsMax, kRowsMax), alone);
}

TEST_F(GemvRows, AreTheDevicesProductsBeyondTheLimit) {
  EXPECT_EQ(draw(kRowsMax, kRowsMax + 1), draw(0, kRowsMax + 1));
}

TEST_F(GemvRows, AreLimitedToWhatTheKernelTakes) {
  EXPECT_EQ(draw(1000, 9), draw(0, 9));
}

}  // namespace
}  // namespace sluice::engine
