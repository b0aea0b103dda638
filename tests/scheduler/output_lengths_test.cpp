#include "scheduler/output_lengths.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

void finish(OutputLengths& lengths, int32_t count, int32_t length, bool at_cap = false) {
  for (int32_t i = 0; i < count; ++i) lengths.note_finished(length, at_cap);
}

SequenceLoad running(int32_t drawn) {
  return {.drawn = drawn};
}

TEST(OutputLengths, KnowsNothingBeforeEnoughHaveFinished) {
  OutputLengths lengths;
  finish(lengths, OutputLengths::kFinishedMin - 1, 10);
  lengths.refresh({});
  EXPECT_FALSE(lengths.is_known());
  EXPECT_EQ(lengths.survival(0, 1000), 1);
  EXPECT_EQ(lengths.mean_left(0, 64), 64);
  finish(lengths, 1, 10);
  EXPECT_TRUE(lengths.is_known());
  lengths.refresh({});
  EXPECT_LT(lengths.survival(0, 10), 0.1);
}

// 20 end after 10 tokens and one after 20; one more never ends. So 2 of 22 are left after 10, and 1 of these 2
// after 20.
TEST(OutputLengths, EstimatesByKaplanAndMeierWithOneThatNeverEnds) {
  OutputLengths lengths;
  finish(lengths, 20, 10);
  finish(lengths, 1, 20);
  lengths.refresh({});
  EXPECT_DOUBLE_EQ(lengths.survival(0, 9), 1);
  EXPECT_NEAR(lengths.survival(0, 10), 2.0 / 22, 1e-12);
  EXPECT_NEAR(lengths.survival(0, 19), 2.0 / 22, 1e-12);
  EXPECT_NEAR(lengths.survival(0, 20), 1.0 / 22, 1e-12);
  EXPECT_NEAR(lengths.survival(10, 9), 1, 1e-12) << "who has drawn 10 is beyond the ends at 10";
  EXPECT_NEAR(lengths.survival(10, 10), 1.0 / 2, 1e-12);
  EXPECT_NEAR(lengths.survival(0, 100'000), 1.0 / 22, 1e-12) << "beyond the longest nothing is known";
  EXPECT_NEAR(lengths.survival(500, 1), 1, 1e-12);
}

TEST(OutputLengths, TakesThoseAtTheirCapsAsLongerThanThat) {
  OutputLengths lengths;
  finish(lengths, 10, 5, true);
  finish(lengths, 10, 10);
  finish(lengths, 1, 20);
  lengths.refresh({});
  EXPECT_DOUBLE_EQ(lengths.survival(0, 5), 1);
  EXPECT_NEAR(lengths.survival(0, 10), 2.0 / 12, 1e-12);
  EXPECT_NEAR(lengths.survival(0, 20), 1.0 / 12, 1e-12);
}

TEST(OutputLengths, CountsThoseWhoRunAsFarAsTheyHaveCome) {
  OutputLengths lengths;
  finish(lengths, 20, 10);
  finish(lengths, 1, 20);
  lengths.refresh(std::vector{running(5), running(15)});
  EXPECT_NEAR(lengths.survival(0, 10), 3.0 / 23, 1e-12) << "the one at 5 says nothing about 10, the one at 15 does";
  EXPECT_NEAR(lengths.survival(0, 20), 3.0 / 23 / 2, 1e-12);
  lengths.refresh(std::vector{running(100)});
  EXPECT_NEAR(lengths.survival(0, 10), 3.0 / 23, 1e-12);
  EXPECT_NEAR(lengths.survival(0, 20), 2.0 / 23, 1e-12) << "longer than any that has ended: at risk all the way";
}

TEST(OutputLengths, ForgetsTheOldest) {
  OutputLengths lengths;
  finish(lengths, 400, 10);
  lengths.refresh({});
  EXPECT_NEAR(lengths.survival(0, 10), 1.0 / 401, 1e-12);
  finish(lengths, 400, 30);
  lengths.refresh({});
  EXPECT_DOUBLE_EQ(lengths.survival(0, 10), 1);
  EXPECT_NEAR(lengths.survival(0, 30), 1.0 / 401, 1e-12);
}

TEST(OutputLengths, TellsTheMeanOfWhatIsLeft) {
  OutputLengths lengths;
  finish(lengths, 21, 10);
  lengths.refresh({});
  EXPECT_NEAR(lengths.mean_left(0, 20), 10 + 10.0 / 22, 1e-9) << "10 for all, 10 more for the one in 22";
  EXPECT_NEAR(lengths.mean_left(0, 10), 10, 1e-9) << "never more than the cap";
  EXPECT_NEAR(lengths.mean_left(4, 6), 6, 1e-9);
  EXPECT_EQ(lengths.mean_left(0, 0), 0);
}

TEST(OutputLengths, TrustsLessWhenForetoldEndsDoNotCome) {
  OutputLengths lengths;
  finish(lengths, 21, 10);
  lengths.refresh({});
  EXPECT_EQ(lengths.trust(), 1);
  const double foretold = lengths.survival(0, 10);
  for (int i = 0; i < 50; ++i) lengths.note_drawn(3, false);  // no end was foretold here
  EXPECT_NEAR(lengths.trust(), 1, 1e-9);
  lengths.note_drawn(9, false);
  EXPECT_NEAR(lengths.trust(), 3 / (3 + 21.0 / 22), 1e-9);
  for (int i = 0; i < 100; ++i) lengths.note_drawn(9, false);
  EXPECT_NEAR(lengths.trust(), 3.0 / (3 + 10), 0.01) << "the last ten foretold ends count";
  lengths.refresh({});
  EXPECT_NEAR(lengths.survival(0, 10), std::pow(foretold, lengths.trust()), 1e-9);
}

TEST(OutputLengths, TrustsAgainWhenTheyCome) {
  OutputLengths lengths;
  finish(lengths, 21, 10);
  lengths.refresh({});
  for (int i = 0; i < 100; ++i) lengths.note_drawn(9, false);
  double before = lengths.trust();
  for (int i = 0; i < 60; ++i) {
    lengths.note_drawn(9, true);
    EXPECT_GE(lengths.trust(), before);
    before = lengths.trust();
  }
  EXPECT_GT(before, 0.97);
  for (int i = 0; i < 1000; ++i) lengths.note_drawn(2, true);
  EXPECT_EQ(lengths.trust(), 1) << "more ends than foretold are no reason for more than full trust";
}

TEST(OutputLengths, TakesVeryLongOnesAsOfOneLength) {
  OutputLengths lengths;
  finish(lengths, 30, 1'000'000);
  lengths.refresh({});
  EXPECT_DOUBLE_EQ(lengths.survival(0, 10'000), 1);
  EXPECT_LT(lengths.survival(0, 20'000), 0.1);
}

}  // namespace
}  // namespace sluice::scheduler
