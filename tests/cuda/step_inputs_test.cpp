#include "engine/cuda/step_inputs.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"

namespace sluice::engine::cuda {
namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<int32_t>;

constexpr StepRoom kRoom{.tokens = 1000, .samples = 1000, .groups = 2, .table_entries = 5000};

/// A prompt's slice of 3 tokens behind a row that decodes, in two groups of layers, with 3 table entries each.
Batch two_rows() {
  Batch batch;
  batch.token_ids = {7, 20, 21, 22};
  batch.positions = {9, 0, 1, 2};
  batch.slots = {100, 200, 201, 202, 300, 400, 401, 402};
  batch.row_begin = {0, 1, 4};
  batch.context_lengths = {10, 3};
  batch.decode_rows = 1;
  batch.table_begin = {0, 2, 3};
  batch.block_ids = {50, 51, 52, 60, 61, 62};
  batch.drawn_before = {0};
  batch.samples.resize(2);
  batch.samples[1].token_index = 3;
  return batch;
}

/// One token.
Batch one_row() {
  Batch batch;
  batch.token_ids = {7};
  batch.positions = {9};
  batch.slots = {100, 300};
  batch.row_begin = {0, 1};
  batch.table_begin = {0, 2};
  batch.block_ids = {50, 51, 60, 61};
  batch.samples.resize(1);
  return batch;
}

class StepInputsTest : public ::testing::Test {
 protected:
  StepInputsTest() { EXPECT_TRUE(inputs_.allocate(kRoom).ok()); }

  /// Bytes that the batch's upload copied, in one copy.
  int64_t upload(const Batch& batch, int32_t padded_tokens) {
    const HostDevice::Copies before = device_.copied_in();
    EXPECT_TRUE(inputs_.upload(batch, padded_tokens).ok());
    EXPECT_TRUE(device_.synchronize().ok());
    EXPECT_EQ(device_.copied_in().count, before.count + 1);
    return device_.copied_in().bytes - before.bytes;
  }
  Numbers read(const int32_t* from, size_t count) {
    Numbers numbers(count);
    const auto bytes = static_cast<int64_t>(count * sizeof(int32_t));
    EXPECT_TRUE(device_.copy_out(numbers.data(), from, bytes).ok());
    return numbers;
  }
  /// The blocks of a row's table, of a group.
  Numbers table(int32_t group, int32_t row) {
    const Numbers begin = read(inputs_.table_begin(group) + row, 2);
    return read(inputs_.block_ids() + begin[0], static_cast<size_t>(begin[1] - begin[0]));
  }

  HostDevice device_{int64_t{1} << 20};
  StepInputs inputs_{device_};
};

TEST_F(StepInputsTest, LieOnTheDeviceAsInTheBatch) {
  upload(two_rows(), 0);
  EXPECT_THAT(read(inputs_.token_ids(), 4), ElementsAre(7, 20, 21, 22));
  EXPECT_THAT(read(inputs_.positions(), 4), ElementsAre(9, 0, 1, 2));
  EXPECT_THAT(read(inputs_.slots(0), 4), ElementsAre(100, 200, 201, 202));
  EXPECT_THAT(read(inputs_.slots(1), 4), ElementsAre(300, 400, 401, 402));
  EXPECT_THAT(read(inputs_.row_begin(), 3), ElementsAre(0, 1, 4));
  EXPECT_THAT(read(inputs_.sampled_tokens(), 2), ElementsAre(0, 3));
  EXPECT_THAT(read(inputs_.drawn_before(), 1), ElementsAre(0));
  EXPECT_THAT(table(0, 0), ElementsAre(50, 51));
  EXPECT_THAT(table(0, 1), ElementsAre(52));
  EXPECT_THAT(table(1, 0), ElementsAre(60, 61));
  EXPECT_THAT(table(1, 1), ElementsAre(62));
}

TEST_F(StepInputsTest, PadWithTokensOfNoRow) {
  upload(one_row(), 3);
  EXPECT_THAT(read(inputs_.token_ids(), 3), ElementsAre(7, 0, 0));
  EXPECT_THAT(read(inputs_.slots(0), 3), ElementsAre(100, -1, -1));
  EXPECT_THAT(read(inputs_.slots(1), 3), ElementsAre(300, -1, -1));
  EXPECT_THAT(read(inputs_.row_begin(), 4), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(read(inputs_.drawn_before(), 3), ElementsAre(-1, -1, -1));
  EXPECT_THAT(table(1, 0), ElementsAre(60, 61));
  for (const int32_t group : {0, 1}) {
    for (const int32_t row : {1, 2}) EXPECT_TRUE(table(group, row).empty());
  }
}

// Arrays begin at multiples of 16 bytes, and block ids end it.
TEST_F(StepInputsTest, TakeOneCopyOfWhatTheStepUses) {
  EXPECT_EQ(upload(one_row(), 0), 16 + 16 + 16 + 16 + 16 + 16 + 16 + 4 * 4);
  EXPECT_EQ(upload(two_rows(), 0), 16 + 16 + 32 + 32 + 48 + 16 + 16 + 6 * 4);
  EXPECT_EQ(upload(one_row(), 4), 16 + 16 + 32 + 32 + 48 + 16 + 16 + 4 * 4);
  EXPECT_LT(upload(two_rows(), 0), StepInputs::bytes_for(kRoom) / 100);
}

TEST_F(StepInputsTest, LieAtTheSamePlacesInStepsOfAsManyTokens) {
  inputs_.lay_out(4);
  const std::vector<const int32_t*> recorded = {inputs_.token_ids(),    inputs_.positions(),     inputs_.slots(1),
                                                inputs_.row_begin(),    inputs_.table_begin(1),  inputs_.block_ids(),
                                                inputs_.drawn_before(), inputs_.sampled_tokens()};
  for (const Batch& batch : {one_row(), two_rows()}) {
    upload(batch, 4);
    EXPECT_THAT(recorded, ElementsAre(inputs_.token_ids(), inputs_.positions(), inputs_.slots(1), inputs_.row_begin(),
                                      inputs_.table_begin(1), inputs_.block_ids(), inputs_.drawn_before(),
                                      inputs_.sampled_tokens()));
  }
}

TEST_F(StepInputsTest, HaveRoomForMoreSamplesThanTokensAndForTheLargestStep) {
  Batch batch = one_row();
  batch.samples.resize(1000);
  for (SampleRow& sample : batch.samples) sample.token_index = 0;
  batch.samples.back().token_index = 5;
  upload(batch, 0);
  EXPECT_EQ(read(inputs_.sampled_tokens(), 1000).back(), 5);
  EXPECT_THAT(table(1, 0), ElementsAre(60, 61)) << "behind them";

  batch.table_begin = {0, 5000};
  batch.block_ids.assign(10'000, 3);
  batch.block_ids.back() = 4;
  EXPECT_EQ(upload(batch, 1000), StepInputs::bytes_for(kRoom));
  EXPECT_EQ(table(1, 0).back(), 4);
}

}  // namespace
}  // namespace sluice::engine::cuda
