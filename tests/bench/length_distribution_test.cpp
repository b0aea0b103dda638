#include "bench/length_distribution.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

std::vector<int32_t> draw(const std::string& text, int count) {
  const LengthDistribution lengths = parse_length(text).value();
  std::vector<int32_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(lengths.draw(7, static_cast<uint64_t>(i)));
  return drawn;
}

int32_t median(std::vector<int32_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST(LengthDistribution, WrongTextIsRefused) {
  for (const char* const bad : {"",
                                "0",
                                "-1",
                                "1048577",
                                "a",
                                "9..8",
                                "0..8",
                                "1..",
                                "..8",
                                "1..2..3",
                                "normal:",
                                "normal:100",
                                "normal:100,-1",
                                "normal:0,1",
                                "normal:100,10,0",
                                "normal:100,10,1.5",
                                "normal:100,10,5,5",
                                "lognormal:200",
                                "lognormal:200,11",
                                "lognormal:200,0.8,1048577",
                                "lognormal:nan,1",
                                "gamma:1,2"})
    EXPECT_FALSE(parse_length(bad).ok()) << bad;
  for (const char* const good : {"1", "1048576", "1..1", "1..1048576", "normal:1,0", "lognormal:200,10,1048576"})
    EXPECT_TRUE(parse_length(good).ok()) << good;
}

TEST(LengthDistribution, AFixedLengthIsThatLength) {
  EXPECT_TRUE(parse_length("64")->is_fixed());
  EXPECT_EQ(draw("64", 3), (std::vector<int32_t>{64, 64, 64}));
}

TEST(LengthDistribution, AUniformOneCoversItsRangeAndStaysInIt) {
  const std::vector<int32_t> drawn = draw("3..6", 200);
  EXPECT_EQ(std::set<int32_t>(drawn.begin(), drawn.end()), (std::set<int32_t>{3, 4, 5, 6}));
}

TEST(LengthDistribution, ANormalOneHasItsMeanAndSpread) {
  const std::vector<int32_t> drawn = draw("normal:1000,100", 10'000);
  double sum = 0;
  double squares = 0;
  for (const int32_t length : drawn) {
    sum += length;
    squares += (length - 1000.0) * (length - 1000.0);
  }
  EXPECT_NEAR(sum / 10'000, 1000, 5);
  EXPECT_NEAR(squares / 10'000, 10'000, 800);
  EXPECT_LE(*std::max_element(drawn.begin(), drawn.end()), 1300);  // the cap of three deviations
}

TEST(LengthDistribution, ALognormalOneHasItsMedianAndItsCap) {
  EXPECT_NEAR(median(draw("lognormal:200,0.8", 10'000)), 200, 10);
  EXPECT_EQ(parse_length("lognormal:200,0.8")->max, 2205);  // 200 e^2.4
  const std::vector<int32_t> drawn = draw("lognormal:200,0.8,300", 1000);
  EXPECT_EQ(*std::max_element(drawn.begin(), drawn.end()), 300);
}

TEST(LengthDistribution, NothingIsShorterThanOneToken) {
  const std::vector<int32_t> drawn = draw("normal:2,5", 1000);
  EXPECT_EQ(*std::min_element(drawn.begin(), drawn.end()), 1);
}

TEST(LengthDistribution, TellsItselfAsItIsRead) {
  for (const char* const text : {"64", "3..6", "normal:100,20,160", "lognormal:200,0.8,300"})
    EXPECT_EQ(parse_length(text)->text(), text);
}

}  // namespace
}  // namespace sluice::bench
