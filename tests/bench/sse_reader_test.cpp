#include "bench/sse_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

std::vector<std::string> events_of(const std::string& bytes, size_t piece) {
  std::vector<std::string> events;
  SseReader reader([&](std::string_view data) { events.emplace_back(data); });
  for (size_t at = 0; at < bytes.size(); at += piece) {
    EXPECT_TRUE(reader.read(std::string_view(bytes).substr(at, piece)));
  }
  return events;
}

TEST(SseReader, GarbageIsToldOnceAndNothingIsReadAfterIt) {
  std::vector<std::string> events;
  SseReader reader([&](std::string_view data) { events.emplace_back(data); });
  EXPECT_TRUE(reader.read("data: a\n\n"));
  EXPECT_FALSE(reader.read("<html>\n"));
  EXPECT_FALSE(reader.read("data: b\n\n"));
  EXPECT_EQ(events, std::vector<std::string>{"a"});
}

TEST(SseReader, AnEndlessLineAndAnEndlessEventAreGarbage) {
  const std::string half(SseReader::kEventBytesMax / 2 + 1, 'x');
  SseReader line([](std::string_view) {});
  EXPECT_TRUE(line.read("data: " + half));
  EXPECT_FALSE(line.read(half));
  SseReader event([](std::string_view) {});
  EXPECT_TRUE(event.read("data: " + half + "\n"));
  EXPECT_FALSE(event.read("data: " + half + "\n"));
}

TEST(SseReader, HoweverTheBytesAreCutTheEventsAreTheSame) {
  const std::string bytes =
      "data: one\n\nevent: x\r\ndata:two\r\ndata: lines\r\n\r\n: comment\nid: 3\n\nretry: 5\ndata\n\n";
  const std::vector<std::string> events{"one", "two\nlines", ""};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(events_of(bytes, piece), events) << piece;
}

TEST(SseReader, AnEventWithoutItsEmptyLineHasNotCome) {
  EXPECT_TRUE(events_of("data: one\n", 100).empty());
}

}  // namespace
}  // namespace sluice::bench
