#include "engine/stop_matcher.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::engine {
namespace {

TEST(B02_StopString, a_FindsAStopAcrossTokensAndNeverShowsItsBeginning) {
  StopMatcher matcher({"no n"});
  EXPECT_EQ(matcher.push(" no"), " ");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.push(" no"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "no n");
  EXPECT_EQ(matcher.push(" no"), "");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(B02_StopString, b_FlushesTheHeldTailWhenTheLengthEndsTheRun) {
  StopMatcher matcher({"no x"});
  std::string text;
  for (int i = 0; i < 3; ++i) text += matcher.push(" no");
  EXPECT_EQ(text, " no no ");
  EXPECT_EQ(text + matcher.flush(), " no no no");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "");
}

TEST(StopMatcherDeathTest, TakesAnEmptyStopForABugOfItsCaller) {
  EXPECT_DEATH(StopMatcher({""}), "stop.empty");
}

TEST(StopMatcher, PassesEverythingWithoutStops) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.push("abc"), "abc");
  EXPECT_EQ(matcher.push(""), "");
  EXPECT_EQ(matcher.flush(), "");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, StopsAtTheFirstByte) {
  StopMatcher matcher({"a"});
  EXPECT_EQ(matcher.push("abc"), "");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, HoldsWhatOverlapsWithItself) {
  StopMatcher matcher({"aab"});
  EXPECT_EQ(matcher.push("aaa"), "a");
  EXPECT_EQ(matcher.push("a"), "a");
  EXPECT_EQ(matcher.push("b!"), "");
  EXPECT_EQ(matcher.matched(), "aab");
}

TEST(StopMatcher, TheStopThatIsCompleteFirstWins) {
  StopMatcher matcher({"abcd", "bc"});
  EXPECT_EQ(matcher.push("xabcd"), "xa");
  EXPECT_EQ(matcher.matched(), "bc");
}

TEST(StopMatcher, OfStopsThatEndTogetherTheLongestWins) {
  StopMatcher matcher({"c", "abc", "bc"});
  EXPECT_EQ(matcher.push("xabc"), "x");
  EXPECT_EQ(matcher.matched(), "abc");
}

TEST(StopMatcher, HoldsForTheStopThatHasMatchedMost) {
  StopMatcher matcher({"bcz", "abcz", "c?"});
  EXPECT_EQ(matcher.push("xabc"), "x");
  EXPECT_EQ(matcher.push("!"), "abc!");
}

TEST(StopMatcher, CutsBetweenCharacters) {
  StopMatcher matcher({"\xC3\xA9!"});  // shares its first byte with U+00E8
  EXPECT_EQ(matcher.push("a\xC3\xA8"), "a\xC3\xA8");
  EXPECT_EQ(matcher.push("\xC3\xA9"), "");
  EXPECT_EQ(matcher.push("\xC3\xA9"), "\xC3\xA9");
  EXPECT_EQ(matcher.push("!"), "");
  EXPECT_TRUE(matcher.stopped());
}

/// The claim in its plainest form: cut where the first stop ends, before the longest one that ends there.
std::string cut_naively(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      const bool ends_here = end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0;
      if (ends_here) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string random_text(uint64_t seed, uint64_t stream, size_t size_max) {
  std::string text;
  const size_t size = 1 + random_bits(seed, stream) % size_max;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random_bits(seed, stream + i + 1) % 3);
  return text;
}

TEST(StopMatcher, GivesTheSameTextHoweverItIsCut) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::vector<std::string> stops;
    for (uint64_t i = 0; i <= random_bits(seed, 0) % 3; ++i) stops.push_back(random_text(seed, 100 * (i + 1), 5));
    const std::string text = random_text(seed, 1000, 30);
    StopMatcher matcher(stops);
    std::string shown;
    for (size_t begin = 0; begin < text.size();) {
      const size_t size = 1 + random_bits(seed, 2000 + begin) % 4;
      shown += matcher.push(std::string_view(text).substr(begin, size));
      EXPECT_TRUE(cut_naively(text, stops).starts_with(shown)) << "seed " << seed;
      begin += size;
    }
    shown += matcher.flush();
    EXPECT_EQ(shown, cut_naively(text, stops)) << "seed " << seed;
  }
}

double seconds_to_push(size_t bytes) {
  // Every byte extends the match or falls back by one, the worst case for a matcher that looks again at what it holds.
  StopMatcher matcher({std::string(bytes / 2, 'a') + "b"});
  const std::clock_t begin = std::clock();  // processor time: a busy machine changes nothing
  std::string shown;
  for (size_t i = 0; i < bytes / 100; ++i) shown += matcher.push(std::string(100, 'a'));
  shown += matcher.flush();
  EXPECT_EQ(shown.size(), bytes);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(StopMatcher, TakesTimeLinearInTheText) {
  const double small = seconds_to_push(20'000);
  EXPECT_LT(seconds_to_push(200'000), 40 * small + 0.1);
}

}  // namespace
}  // namespace sluice::engine
