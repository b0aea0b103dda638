#include "bench/slo.h"

#include <gtest/gtest.h>

#include "bench/parse_time.h"

namespace sluice::bench {
namespace {

using std::chrono::milliseconds;

AnswerTiming timing(int ttft_ms, std::vector<int> gaps_ms) {
  AnswerTiming timing;
  timing.ttft = milliseconds(ttft_ms);
  Duration sum{};
  for (const int gap : gaps_ms) {
    timing.gaps.push_back(milliseconds(gap));
    sum += milliseconds(gap);
  }
  if (!gaps_ms.empty()) timing.tpot = sum / static_cast<int64_t>(gaps_ms.size());
  timing.end_to_end = milliseconds(ttft_ms) + sum;
  return timing;
}

TEST(Slo, WrongTextIsRefused) {
  for (const char* const bad : {"", "ttft", "ttft=", "ttft=300", "ttft=0ms", "ttft=-1ms", "ttft=1h", "x=1ms",
                                "ttft=1ms,ttft=2ms", "ttft=1ms,", "ttft=infs"})
    EXPECT_FALSE(parse_slo(bad).ok()) << bad;
}

TEST(Slo, ReadsEachLimitAndTellsItself) {
  const Slo slo = parse_slo("ttft=0.3s,tpot=50ms,itl=80ms,e2e=2m").value();
  EXPECT_EQ(slo.ttft, milliseconds(300));
  EXPECT_EQ(slo.tpot, milliseconds(50));
  EXPECT_EQ(slo.itl, milliseconds(80));
  EXPECT_EQ(slo.e2e, std::chrono::minutes(2));
  EXPECT_EQ(slo.text(), "ttft=300ms,tpot=50ms,itl=80ms,e2e=120000ms");
}

TEST(Slo, ALimitIsKeptUpToItself) {
  EXPECT_TRUE(parse_slo("ttft=100ms")->is_met_by(timing(100, {})));
  EXPECT_FALSE(parse_slo("ttft=100ms")->is_met_by(timing(101, {})));
  EXPECT_TRUE(parse_slo("tpot=50ms")->is_met_by(timing(1, {40, 60})));
  EXPECT_FALSE(parse_slo("tpot=50ms")->is_met_by(timing(1, {41, 61})));
  EXPECT_TRUE(parse_slo("itl=60ms")->is_met_by(timing(1, {40, 60})));
  EXPECT_FALSE(parse_slo("itl=59ms")->is_met_by(timing(1, {40, 60})));
  EXPECT_TRUE(parse_slo("e2e=101ms")->is_met_by(timing(1, {40, 60})));
  EXPECT_FALSE(parse_slo("e2e=100ms")->is_met_by(timing(1, {40, 60})));
}

TEST(Slo, AnAnswerWithoutATokenHasNoTtftToKeep) {
  AnswerTiming nothing;
  EXPECT_FALSE(parse_slo("ttft=100ms")->is_met_by(nothing));
  EXPECT_TRUE(parse_slo("tpot=50ms")->is_met_by(nothing));
}

TEST(ParseTime, ReadsItsUnits) {
  EXPECT_EQ(parse_time("40us").value(), std::chrono::microseconds(40));
  EXPECT_EQ(parse_time("1.5s").value(), milliseconds(1500));
  EXPECT_EQ(parse_time("10080m").value(), std::chrono::hours(168));
  for (const char* const bad : {"", "1", "ms", "0s", "-1s", "10081m", "1 s", "nans"})
    EXPECT_FALSE(parse_time(bad).ok()) << bad;
}

}  // namespace
}  // namespace sluice::bench
