#include "engine/cuda/step_shape.h"

#include <limits>

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

TEST(StepShape, IsThatOfTheLongestRowOfEachKind) {
  Batch batch;
  batch.token_ids.assign(12, 0);
  batch.row_begin = {0, 1, 2, 5, 12};
  batch.context_lengths = {40, 700, 900, 7};
  batch.decode_rows = 2;
  const StepShape shape = StepShape::of(batch);
  EXPECT_EQ(shape.tokens, 12);
  EXPECT_EQ(shape.rows, 4);
  EXPECT_EQ(shape.decode_context, 700);
  EXPECT_EQ(shape.prompt_slice, 7);
  EXPECT_EQ(shape.name(), "step: 2 decode rows, context 700, 10 prompt tokens");
}

TEST(StepShape, HasANameWhateverItsNumbers) {
  const int32_t most = std::numeric_limits<int32_t>::max();
  const StepShape shape{.tokens = most, .rows = most, .decode_rows = most, .decode_context = most, .prompt_slice = 0};
  EXPECT_EQ(shape.name(), "step: 2147483647 decode rows, context 2147483647, 0 prompt tokens");
}

}  // namespace
}  // namespace sluice::engine::cuda
