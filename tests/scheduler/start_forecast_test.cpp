#include "scheduler/start_forecast.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr int32_t kBlockSize = 16;

/// A sequence that holds whole blocks and has `left` tokens to go.
SequenceLoad load_of(int32_t blocks, int32_t left) {
  return {.table = blocks,
          .owned = blocks,
          .final_blocks = blocks + (left + kBlockSize - 1) / kBlockSize,
          .tokens = blocks * kBlockSize,
          .left = left};
}

StartView view_of(std::span<const SequenceLoad> running, int32_t capacity, int32_t max_running = 100) {
  return {.running = running,
          .capacity = capacity,
          .growth = {kBlockSize},
          .max_running = max_running,
          .policy = AdmissionPolicy::kReserve};
}

LengthBook book_of(int32_t length) {
  LengthBook book;
  for (int i = 0; i < 400; ++i) book.note_finished(0, length, false);
  book.refresh({});
  return book;
}

TEST(StartForecast, SaysNowWhenThereIsRoom) {
  const LengthBook unknown;
  StartForecast forecast(unknown, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(2, 32)};
  EXPECT_EQ(forecast.steps_until_start(view_of(running, 8), load_of(2, 32)), 0);
  EXPECT_EQ(forecast.steps_until_start(view_of({}, 4), load_of(2, 32)), 0);
}

TEST(StartForecast, WaitsForAsManyEndsAsItTakes) {
  const LengthBook unknown;
  StartForecast forecast(unknown, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(2, 96), load_of(2, 32), load_of(2, 64)};  // 8, 4 and 6 blocks
  EXPECT_EQ(forecast.steps_until_start(view_of(running, 18), load_of(2, 32)), 32);             // 4 blocks
  EXPECT_EQ(forecast.steps_until_start(view_of(running, 18), load_of(2, 64)), 64);
  EXPECT_EQ(forecast.steps_until_start(view_of(running, 18), load_of(2, 256)), 96);
}

// Each holds 3 blocks at 16 tokens, 6 at 32 and then one more for every 16: 8 at its cap.
TEST(StartForecast, LetsRingsGrowUntilTheyAreFull) {
  const LengthBook unknown;
  const kvcache::BlockGrowth growth{.block_size = kBlockSize, .full_groups = 1, .window_groups = 2, .ring_blocks = 2};
  StartForecast forecast(unknown, growth);
  const SequenceLoad load{.table = 3, .owned = 3, .final_blocks = 8, .tokens = 16, .left = 48};
  const std::vector<SequenceLoad> running = {load};
  StartView view = view_of(running, 16);
  view.growth = growth;
  EXPECT_EQ(forecast.steps_until_start(view, load), 0);
  view.capacity = 15;
  EXPECT_EQ(forecast.steps_until_start(view, load), 48);
  const SequenceLoad passer{.table = 3, .owned = 3, .final_blocks = 8, .tokens = 15, .left = 49};
  EXPECT_TRUE(forecast.delays(view, passer, load, 48)) << "it has its 8 blocks then";
  view.capacity = 16;
  EXPECT_FALSE(forecast.delays(view, passer, load, 48));
}

TEST(StartForecast, WaitsForARow) {
  const LengthBook unknown;
  StartForecast forecast(unknown, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(1, 48), load_of(1, 16)};
  EXPECT_EQ(forecast.steps_until_start(view_of(running, 100, 2), load_of(1, 1)), 16);
  EXPECT_EQ(forecast.steps_until_start(view_of(running, 100, 3), load_of(1, 1)), 0);
}

TEST(StartForecast, ExpectsEndsWhenTheyAreToBeExpected) {
  const LengthBook book = book_of(10);
  StartForecast forecast(book, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(2, 96)};
  const int32_t steps = forecast.steps_until_start(view_of(running, 8), load_of(2, 32));
  EXPECT_GE(steps, 10);
  EXPECT_LE(steps, 12);
}

TEST(StartForecast, SeesThatOneWhoIsGoneByThenDelaysNobody) {
  const LengthBook unknown;
  StartForecast forecast(unknown, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(2, 32)};
  const SequenceLoad head = load_of(2, 64);  // 6 blocks of 8, when 4 are reserved
  const StartView view = view_of(running, 8);
  ASSERT_EQ(forecast.steps_until_start(view, head), 32);
  EXPECT_FALSE(forecast.delays(view, load_of(1, 32), head, 32)) << "gone at the same step";
  EXPECT_TRUE(forecast.delays(view, load_of(1, 33), head, 32)) << "its 4 blocks are in the way, 6 + 4 of 8";
}

TEST(StartForecast, SeesThatOneWhoLeavesRoomDelaysNobody) {
  const LengthBook unknown;
  StartForecast forecast(unknown, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(2, 32)};
  const SequenceLoad head = load_of(2, 64);
  const SequenceLoad passer = load_of(1, 48);  // 4 blocks
  EXPECT_FALSE(forecast.delays(view_of(running, 10), passer, head, 32));
  EXPECT_TRUE(forecast.delays(view_of(running, 9), passer, head, 32));
}

TEST(StartForecast, SeesThatARowIsTaken) {
  const LengthBook unknown;
  StartForecast forecast(unknown, {kBlockSize});
  const std::vector<SequenceLoad> running = {load_of(2, 32), load_of(1, 64)};
  const SequenceLoad head = load_of(2, 64);
  EXPECT_TRUE(forecast.delays(view_of(running, 100, 2), load_of(1, 64), head, 32));
  EXPECT_FALSE(forecast.delays(view_of(running, 100, 3), load_of(1, 64), head, 32));
}

}  // namespace
}  // namespace sluice::scheduler
