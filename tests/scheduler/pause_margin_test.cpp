#include "scheduler/pause_margin.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

TEST(PauseMargin, RisesAtOnceAndSinksSlowly) {
  PauseMargin margin(0.005);
  EXPECT_EQ(margin.z(), 3);
  margin.note_paused();
  EXPECT_EQ(margin.z(), 3.25);
  margin.note_never_paused();
  EXPECT_DOUBLE_EQ(margin.z(), 3.25 - 0.25 * 0.005);
}

TEST(PauseMargin, StandsStillAtTheTarget) {
  PauseMargin margin(0.25);
  for (int i = 0; i < 100; ++i) {
    margin.note_paused();
    for (int j = 0; j < 4; ++j) margin.note_never_paused();
  }
  EXPECT_EQ(margin.z(), 3);
}

TEST(PauseMargin, StaysBetweenNothingAndEight) {
  PauseMargin margin(0.5);
  for (int i = 0; i < 20; ++i) margin.note_paused();
  EXPECT_EQ(margin.z(), 8);
  margin.note_paused();
  EXPECT_EQ(margin.z(), 8);
  for (int i = 0; i < 64; ++i) margin.note_never_paused();
  EXPECT_EQ(margin.z(), 0);
  margin.note_never_paused();
  EXPECT_EQ(margin.z(), 0);
}

}  // namespace
}  // namespace sluice::scheduler
