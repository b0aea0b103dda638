#include "client/stream_stopwatch.h"

#include <gtest/gtest.h>

#include "tests/client/support/scripted_server.h"

namespace sluice::client {
namespace {

using std::chrono::milliseconds;
using test_support::finished_event;
using test_support::prompt_info_event;
using test_support::tokens_event;

/// Observes events at given moments after its start.
class ScriptedStopwatch {
 public:
  void at(int ms, const v1::CompleteEvent& event) {
    clock_.advance(milliseconds(ms) - (clock_.now() - start_));
    stopwatch_.observe(event);
  }
  StreamTiming timing() const { return stopwatch_.timing(); }

 private:
  ManualClock clock_;
  TimePoint start_ = clock_.now();
  StreamStopwatch stopwatch_{clock_, start_};
};

TEST(B31_Stopwatch, a_EventsBeforeTheFirstTokenAreNotTheFirstToken) {
  ScriptedStopwatch script;
  script.at(10, prompt_info_event(5));
  script.at(20, tokens_event("", {}));
  script.at(100, tokens_event("A", {1}));
  script.at(150, tokens_event(" B", {2}));
  script.at(200, tokens_event(" C", {3}));
  script.at(201, finished_event(5, 3));
  const StreamTiming timing = script.timing();
  EXPECT_EQ(timing.ttft, milliseconds(100));
  EXPECT_EQ(timing.tpot, milliseconds(50));
  EXPECT_EQ(timing.completion_tokens, 3);
  EXPECT_EQ(timing.end_to_end, milliseconds(201));
  EXPECT_EQ(timing.gaps, (std::vector<Duration>{milliseconds(50), milliseconds(50)}));
}

TEST(B31_Stopwatch, b_OneEventWithFourTokensIsFourTokens) {
  ScriptedStopwatch script;
  script.at(40, tokens_event("four tokens of text", {1, 2, 3, 4}));
  script.at(41, finished_event(5, 4));
  const StreamTiming timing = script.timing();
  EXPECT_EQ(timing.completion_tokens, 4);
  EXPECT_EQ(timing.ttft, milliseconds(40));
  EXPECT_EQ(timing.tpot, Duration::zero());
  EXPECT_EQ(timing.gaps, std::vector<Duration>(3, Duration::zero()));
}

TEST(B31_Stopwatch, c_TokensOfBlanksAreCountedByTheUsage) {
  ScriptedStopwatch script;
  for (int i = 0; i < 15; ++i) script.at(10 * (i + 1), tokens_event(" ", {7}));
  script.at(151, finished_event(5, 15));
  EXPECT_EQ(script.timing().completion_tokens, 15);
  EXPECT_EQ(script.timing().tpot, milliseconds(10));
}

TEST(B31_Stopwatch, d_WithoutUsageTokensAreCounted) {
  ScriptedStopwatch script;
  script.at(10, tokens_event("ab", {1, 2}));
  script.at(30, tokens_event("c", {3}));
  EXPECT_EQ(script.timing().completion_tokens, 3);
  EXPECT_EQ(script.timing().tpot, milliseconds(10));
}

TEST(StreamStopwatch, HasNoFirstTokenWhenNoneCame) {
  ScriptedStopwatch script;
  script.at(10, prompt_info_event(5));
  script.at(20, finished_event(5, 0));
  EXPECT_EQ(script.timing().ttft, std::nullopt);
  EXPECT_EQ(script.timing().tpot, std::nullopt);
  EXPECT_TRUE(script.timing().gaps.empty());
}

TEST(StreamStopwatch, HasNoTpotWithOneToken) {
  ScriptedStopwatch script;
  script.at(10, tokens_event("A", {1}));
  script.at(11, finished_event(5, 1));
  EXPECT_EQ(script.timing().tpot, std::nullopt);
}

TEST(StreamStopwatch, TextThatWasHeldBackIsNoToken) {
  ScriptedStopwatch script;
  script.at(10, tokens_event("", {1}));
  script.at(20, tokens_event("A", {2}));
  script.at(90, tokens_event("rest", {}));
  script.at(91, finished_event(5, 2));
  EXPECT_EQ(script.timing().tpot, milliseconds(10));
}

TEST(StreamStopwatch, GapsOfMixedEventsSumToLastMinusFirst) {
  ScriptedStopwatch script;
  script.at(10, tokens_event("ab", {1, 2}));
  script.at(40, tokens_event("cde", {3, 4, 5}));
  script.at(41, finished_event(5, 5));
  const std::vector<Duration> expected{Duration::zero(), milliseconds(30), Duration::zero(), Duration::zero()};
  EXPECT_EQ(script.timing().gaps, expected);
}

TEST(StreamStopwatch, WithSeveralChoicesTpotIsOfTheFirst) {
  ScriptedStopwatch script;
  script.at(5, tokens_event("x", {9}, 1));
  script.at(10, tokens_event("a", {1}, 0));
  script.at(11, tokens_event("y", {9}, 1));
  script.at(30, tokens_event("b", {2}, 0));
  script.at(31, finished_event(5, 4));
  EXPECT_EQ(script.timing().ttft, milliseconds(5));
  EXPECT_EQ(script.timing().tpot, milliseconds(20));
  EXPECT_EQ(script.timing().completion_tokens, 4);
}

}  // namespace
}  // namespace sluice::client
