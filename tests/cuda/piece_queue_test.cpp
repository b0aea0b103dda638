#include "engine/cuda/piece_queue.h"

#include <thread>

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

TEST(PieceQueue, HandsOutPiecesInOrderUntilNoneIsLeft) {
  PieceQueue queue(3, 8);
  for (size_t piece = 0; piece < 3; ++piece) EXPECT_EQ(queue.claim()->piece, piece);
  EXPECT_FALSE(queue.claim().has_value());
}

TEST(PieceQueue, GivesNoBufferTwiceBeforeItsRelease) {
  PieceQueue queue(100, 2);
  const auto first = queue.claim();
  const auto second = queue.claim();
  EXPECT_NE(first->buffer, second->buffer);
  std::optional<PieceQueue::Work> third;
  std::jthread waiting([&] { third = queue.claim(); });
  queue.release(second->buffer);
  waiting.join();
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->piece, 2U);
  EXPECT_EQ(third->buffer, second->buffer);
}

TEST(PieceQueue, TakesWhatWasFilledFirst) {
  PieceQueue queue(2, 2);
  const auto first = *queue.claim();
  const auto second = *queue.claim();
  EXPECT_FALSE(queue.take(false)->has_value());
  queue.give({.work = second, .bytes = {}});
  queue.give({.work = first, .bytes = {}});
  EXPECT_EQ((*queue.take(true))->work.piece, second.piece);
  EXPECT_EQ((*queue.take(false))->work.piece, first.piece);
  EXPECT_FALSE(queue.take(false)->has_value());
}

TEST(PieceQueue, WaitsForAPiece) {
  PieceQueue queue(1, 1);
  std::jthread filling([&] { queue.give({.work = *queue.claim(), .bytes = {}}); });
  EXPECT_EQ((*queue.take(true))->work.piece, 0U);
}

TEST(PieceQueue, TellsTheFirstFailureAndHandsOutNothingMore) {
  PieceQueue queue(9, 2);
  queue.give({.work = *queue.claim(), .bytes = {}});
  const auto work = queue.claim();
  std::jthread waiting([&] { EXPECT_FALSE(queue.claim().has_value()); });
  queue.fail(not_found("first"));
  queue.fail(not_found("second"));
  waiting.join();
  queue.release(work->buffer);
  EXPECT_FALSE(queue.claim().has_value());
  EXPECT_EQ(queue.take(true).status().message(), "first");
  EXPECT_EQ(queue.take(false).status().message(), "first");
}

TEST(PieceQueue, LetsNobodyWaitOnceItIsClosed) {
  PieceQueue queue(9, 1);
  const auto work = queue.claim();
  std::jthread waiting([&] { EXPECT_FALSE(queue.claim().has_value()); });
  queue.close();
  waiting.join();
  queue.release(work->buffer);
  EXPECT_FALSE(queue.claim().has_value());
}

}  // namespace
}  // namespace sluice::engine::cuda
