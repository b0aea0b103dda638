#include "server/stream_buffer.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

ChoiceText piece(int32_t choice, std::string text, int32_t tokens = 1) {
  return {choice, std::move(text), std::vector<TokenReport>(static_cast<size_t>(tokens))};
}

std::string pop_text(StreamBuffer& buffer) {
  return std::get<ChoiceText>(buffer.pop()).text;
}

TEST(StreamBuffer, RefusesTheTokenPastItsBoundAndTakesTheEnd) {
  StreamBuffer buffer(3);
  EXPECT_EQ(buffer.push(piece(0, "a", 2)), Delivery::kTaken);
  EXPECT_EQ(buffer.push(piece(0, "b", 1)), Delivery::kTaken);
  EXPECT_EQ(buffer.push(piece(0, "c", 1)), Delivery::kTooSlow);
  EXPECT_EQ(buffer.push(RequestError{}), Delivery::kTaken);
  EXPECT_EQ(pop_text(buffer), "ab");
  EXPECT_TRUE(std::holds_alternative<RequestError>(buffer.pop()));
  EXPECT_TRUE(buffer.empty());
}

TEST(StreamBuffer, ReadingMakesRoomAgain) {
  StreamBuffer buffer(2);
  EXPECT_EQ(buffer.push(piece(0, "a", 2)), Delivery::kTaken);
  EXPECT_EQ(pop_text(buffer), "a");
  EXPECT_EQ(buffer.push(piece(0, "b", 2)), Delivery::kTaken);
  EXPECT_EQ(buffer.push(piece(0, "c", 1)), Delivery::kTooSlow);
}

TEST(StreamBuffer, PromptTokensDoNotCount) {
  StreamBuffer buffer(1);
  EXPECT_EQ(buffer.push(PromptEcho{0, std::vector<TokenReport>(1000)}), Delivery::kTaken);
  EXPECT_EQ(buffer.push(piece(0, "a")), Delivery::kTaken);
}

TEST(StreamBuffer, PiecesOfAChoiceGrowTogetherAndChoicesStayApart) {
  StreamBuffer buffer(100);
  for (const char* text : {"a", "b", "c"}) {
    buffer.push(piece(0, text));
    buffer.push(piece(1, text));
  }
  const auto first = std::get<ChoiceText>(buffer.pop());
  const auto second = std::get<ChoiceText>(buffer.pop());
  EXPECT_EQ(first.choice, 0);
  EXPECT_EQ(first.text, "abc");
  EXPECT_EQ(first.tokens.size(), 3U);
  EXPECT_EQ(second.choice, 1);
  EXPECT_EQ(second.text, "abc");
  EXPECT_TRUE(buffer.empty());
}

TEST(StreamBuffer, NothingMovesPastAnEnd) {
  StreamBuffer buffer(100);
  buffer.push(piece(0, "a"));
  buffer.push(ChoiceEnd{.choice = 1, .reason = {}, .stop = {}, .stop_token_id = {}, .totals = {}});
  buffer.push(piece(0, "b"));
  EXPECT_EQ(pop_text(buffer), "a");
  EXPECT_EQ(std::get<ChoiceEnd>(buffer.pop()).choice, 1);
  EXPECT_EQ(pop_text(buffer), "b");
}

TEST(StreamBuffer, AMessageHasABoundedNumberOfTokens) {
  StreamBuffer buffer(100'000);
  for (int32_t i = 0; i <= StreamBuffer::kMessageTokensMax; ++i) buffer.push(piece(0, "x"));
  EXPECT_EQ(std::get<ChoiceText>(buffer.pop()).tokens.size(), static_cast<size_t>(StreamBuffer::kMessageTokensMax));
  EXPECT_EQ(std::get<ChoiceText>(buffer.pop()).tokens.size(), 1U);
  EXPECT_TRUE(buffer.empty());
}

}  // namespace
}  // namespace sluice::server
